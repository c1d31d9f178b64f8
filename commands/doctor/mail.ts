import { createTransport } from 'nodemailer';
import type { Config } from '../../gateway/wiring/config.js';
import { bad, type Finding, good, reasonOf, warning } from './finding.js';

const TIMEOUT_MS = 5_000;

/** Whether mail can be handed over: connection, greeting, STARTTLS where it is asked for, sign-in. */
export async function lookAtMail({ SMTP_URL: url }: Config): Promise<Finding> {
  if (url === undefined) {
    const said = 'SMTP_URL is not set: no mail is sent, so nobody can sign up.';
    return warning('smtp', said, 'Set SMTP_URL to your mail server.');
  }
  try {
    await greet(url);
  } catch (error) {
    return bad('smtp', `The mail server refuses us: ${reasonOf(error)}.`, cureOf(error));
  }
  if (isPrivateWay(new URL(url))) return good('smtp', 'The mail server takes our mail.');
  try {
    await greet(url, { requireTLS: true });
    return good('smtp', 'The mail server takes our mail, encrypted.');
  } catch {
    return warning(
      'smtp.tls',
      'The mail server offers no STARTTLS: passwords and sign-in links travel in clear.',
      'Use smtps:// in SMTP_URL, or a mail server with STARTTLS.',
    );
  }
}

async function greet(url: string, more: { readonly requireTLS?: true } = {}): Promise<void> {
  const transport = createTransport({
    url,
    dnsTimeout: TIMEOUT_MS,
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    ...more,
  });
  try {
    await transport.verify();
  } finally {
    transport.close();
  }
}

/** What nodemailer's codes ask of the operator. */
const CURES: ReadonlyMap<unknown, string> = new Map([
  ['EDNS', 'Check the host in SMTP_URL: its name is not known here.'],
  ['ECONNECTION', 'Check host and port in SMTP_URL, and the firewalls in between.'],
  ['ETIMEDOUT', 'Check host and port in SMTP_URL: smtps:// for port 465, smtp:// for 587.'],
  ['EAUTH', 'Check user and password in SMTP_URL.'],
  ['ETLS', 'Use a mail server with STARTTLS and a valid certificate, or smtps:// in SMTP_URL.'],
]);

function cureOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return CURES.get(code) ?? 'Check host, port, user and password in SMTP_URL.';
}

/** Encrypted by its settings, or never on a network. */
function isPrivateWay({ protocol, hostname, searchParams }: URL): boolean {
  if (protocol === 'smtps:' || searchParams.get('requireTLS') === 'true') return true;
  return hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.');
}
