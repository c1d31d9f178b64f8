import { getAddress } from 'viem';
import type { Address } from '../../ground/domain/units.js';

interface SignInFields {
  /** Who asks; wallets compare it with the page, and warn when it is another. */
  readonly host: string;
  readonly address: Address;
  /** What it is good for, as the wallet shows it: one line of printable ASCII. */
  readonly statement: string;
  readonly uri: string;
  readonly chainId: number;
  readonly nonce: string;
  readonly issuedAt: Date;
  readonly expiresAt: Date;
  readonly resources?: readonly string[];
}

/** The text of ERC-4361, "Message Format". */
export function signInMessage(fields: SignInFields): string {
  const { host, address, statement, uri, chainId, nonce, issuedAt, expiresAt } = fields;
  return [
    `${host} wants you to sign in with your Ethereum account:`,
    getAddress(address),
    '',
    statement,
    '',
    `URI: ${uri}`,
    'Version: 1',
    `Chain ID: ${chainId}`,
    `Nonce: ${nonce}`,
    `Issued At: ${issuedAt.toISOString()}`,
    `Expiration Time: ${expiresAt.toISOString()}`,
    ...(fields.resources ? ['Resources:', ...fields.resources.map((one) => `- ${one}`)] : []),
  ].join('\n');
}
