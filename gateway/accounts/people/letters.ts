/** The mails that the service writes. Names were typed by strangers, so they stand in quotes. */
import type { Mail } from './mail.js';

interface Recipient {
  readonly email: string;
}

export function verifyAddress(publicUrl: string, { email }: Recipient, token: string): Mail {
  return {
    to: email,
    subject: 'Confirm your e-mail address for search402',
    text: lines(
      'Somebody, most likely you, signed up for search402 with this address.',
      'Open this link within an hour to confirm it:',
      `${publicUrl}/console/verify?token=${encodeURIComponent(token)}`,
      'If it was not you, do nothing: no account comes into being.',
    ),
  };
}

export function alreadyRegistered(publicUrl: string, { email }: Recipient): Mail {
  return {
    to: email,
    subject: 'You already have a search402 account',
    text: lines(
      'Somebody, most likely you, tried to sign up with this address, which has an account.',
      `Sign in here: ${publicUrl}/console/sign-in`,
      `Forgot the password? ${publicUrl}/console/forgot`,
      'If it was not you, do nothing: nothing has changed.',
    ),
  };
}

export function resetPassword(publicUrl: string, { email }: Recipient, token: string): Mail {
  return {
    to: email,
    subject: 'Set a new search402 password',
    text: lines(
      'Open this link within an hour to set a new password. It ends all your sessions and takes off your wallets:',
      `${publicUrl}/console/reset?token=${encodeURIComponent(token)}`,
      'If you did not ask for this, do nothing: your password stays as it is.',
    ),
  };
}

export function walletAdded(publicUrl: string, { email }: Recipient, wallet: string): Mail {
  return {
    to: email,
    subject: 'A wallet can sign in to your search402 account',
    text: lines(
      `The wallet ${wallet} was added to your sign-in.`,
      `If it was not you, set a new password: that takes off every wallet. ${publicUrl}/console/forgot`,
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
    subject: 'You are invited to an account on search402',
    text: lines(
      `"${plain(inviter)}" invites you to the account "${plain(account)}" as ${role === 'admin' ? 'an Admin' : 'a Member'}.`,
      'Open this link within seven days, with this address, to accept:',
      `${publicUrl}/console/invitation?id=${encodeURIComponent(id)}`,
      'If you do not know the sender, do nothing.',
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
