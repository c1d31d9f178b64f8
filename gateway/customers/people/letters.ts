/** The mails that the service writes. Names were typed by strangers, so they stand in quotes. */
import type { Mail } from './mail.js';

interface Recipient {
  readonly email: string;
}

export function verifyAddress(publicUrl: string, { email }: Recipient, token: string): Mail {
  return {
    to: email,
    subject: 'Confirm your email address for search402',
    text: lines(
      'Someone, probably you, signed up for search402 with this address.',
      'Open this link within an hour to confirm it:',
      `${publicUrl}/console/verify?token=${encodeURIComponent(token)}`,
      'If it wasn’t you, ignore this email. No account will be created.',
    ),
  };
}

export function alreadyRegistered(publicUrl: string, { email }: Recipient): Mail {
  return {
    to: email,
    subject: 'You already have a search402 account',
    text: lines(
      'Someone, probably you, tried to sign up with this address. It already has an account.',
      `Sign in here: ${publicUrl}/console/sign-in`,
      `Forgot your password? ${publicUrl}/console/forgot`,
      'If it wasn’t you, ignore this email. Nothing has changed.',
    ),
  };
}

export function resetPassword(publicUrl: string, { email }: Recipient, token: string): Mail {
  return {
    to: email,
    subject: 'Set a new search402 password',
    text: lines(
      'Open this link within an hour to set a new password. This signs you out everywhere and unlinks your wallets:',
      `${publicUrl}/console/reset?token=${encodeURIComponent(token)}`,
      'If you didn’t ask for this, ignore this email. Your password stays the same.',
    ),
  };
}

export function walletAdded(publicUrl: string, { email }: Recipient, wallet: string): Mail {
  return {
    to: email,
    subject: 'A wallet can sign in to your search402 account',
    text: lines(
      `The wallet ${wallet} can now sign in to your account.`,
      `If it wasn’t you, reset your password. That unlinks every wallet: ${publicUrl}/console/forgot`,
    ),
  };
}

export function invitation(
  publicUrl: string,
  invited: { id: string; to: string; role: string; account: string; inviter: string },
): Mail {
  const { id, to, role, account, inviter } = invited;
  return {
    to,
    subject: 'You’re invited to an account on search402',
    text: lines(
      `"${plain(inviter)}" invites you to the account "${plain(account)}" as ${role === 'admin' ? 'an Admin' : 'a Member'}.`,
      'To accept, open this link within seven days and sign in with this address:',
      `${publicUrl}/console/invitation?id=${encodeURIComponent(id)}`,
      'If you don’t know the sender, ignore this email.',
    ),
  };
}

/** A name on one line, without the dots and slashes that make a link of it. */
function plain(name: string): string {
  return name
    .replace(/[\p{Cc}"]/gu, ' ')
    .replace(/[./:]/g, ' ')
    .slice(0, 80);
}

function lines(...paragraphs: readonly string[]): string {
  return `${paragraphs.join('\n\n')}\n`;
}
