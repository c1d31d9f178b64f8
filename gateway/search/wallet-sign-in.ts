import type { ChainAllowance } from '../ground/domain/allowance.js';
import type { Clock, Random } from '../ground/domain/ports.js';
import { refuse, type Refusal } from '../ground/domain/refusal.js';
import type { Address } from '../ground/domain/units.js';
import { signInMessage } from '../money/chain/sign-in-message.js';
import type { SignatureCheck } from '../money/chain/wallet-proof.js';
import {
  decodeSignIn,
  encodeSignInRequired,
  signInEnd,
  SIGN_IN_SECONDS,
} from '../money/x402/sign-in.js';

/** A wallet that has just shown that it is there, for one address of this service. */
export interface SignedIn {
  readonly kind: 'wallet';
  readonly address: Address;
  /** Good once: whoever acts on it writes it down first. */
  readonly nonce: string;
}

/** Wallets that sign in with each request (x402 extension `sign-in-with-x`); there is no session. */
export interface WalletSignIn {
  /** The value of `PAYMENT-REQUIRED` that asks for it; nothing about it is kept. */
  challengeHeader(path: string): string;
  /**
   * Who signed the challenge for this path, within five minutes. The server makes the whole message
   * again; a signature for another host, path, chain or time is one of something else. What no key
   * has signed takes a question of the allowance.
   */
  prove(
    header: string | undefined,
    path: string,
    allowance: ChainAllowance,
  ): Promise<SignedIn | Refusal>;
}

const STATEMENT =
  'Sign in to list and revoke the keys that this wallet has paid for. This is free and moves no money.';
const NONCE_BYTES = 16;
/** Clocks of the gateways of one service differ by no more. */
const SKEW_MS = 30_000;

export function createWalletSignIn(parts: {
  readonly clock: Pick<Clock, 'now'>;
  readonly random: Pick<Random, 'bytes'>;
  readonly signatures: SignatureCheck;
  readonly chainId: number;
  readonly publicUrl: string;
}): WalletSignIn {
  const { clock, random, signatures, chainId, publicUrl } = parts;
  const { host: domain, origin } = new URL(publicUrl);
  const asked = (path: string) => {
    const uri = `${origin}${path}`;
    return { domain, uri, chainId, statement: STATEMENT };
  };
  return {
    challengeHeader(path) {
      const nonce = Buffer.from(random.bytes(NONCE_BYTES)).toString('hex');
      const issuedAt = new Date(clock.now());
      const challenge = { ...asked(path), nonce, issuedAt };
      const resource = { url: challenge.uri, description: 'The keys of packs that a wallet paid' };
      return encodeSignInRequired(challenge, { resource, error: 'Sign in with the wallet' });
    },
    async prove(header, path, allowance) {
      const signed = header === undefined ? undefined : decodeSignIn(header);
      if (!signed) return NOT_SIGNED;
      const { address, nonce, issuedAt, signature } = signed;
      const age = clock.now() - issuedAt.getTime();
      if (age < -SKEW_MS || age >= SIGN_IN_SECONDS * 1000) return NOT_SIGNED;
      const { domain: host, uri, ...rest } = asked(path);
      const expiresAt = signInEnd(issuedAt);
      const of = { ...rest, host, uri, address, nonce, issuedAt, expiresAt, resources: [uri] };
      const message = signInMessage(of);
      const wallet = { kind: 'wallet', address, nonce } as const;
      if (await signatures.byKey(message, address, signature)) return wallet;
      const refusal = allowance.take(1);
      if (refusal) return refusal;
      const answer = await signatures.byContract(message, address, signature);
      if (answer === 'unknown') return OUT_OF_REACH;
      return answer === 'yes' ? wallet : NOT_SIGNED;
    },
  };
}

const NOT_SIGNED = refuse(
  'wallet_sign_in_required',
  'Only the wallet that paid sees its keys. Sign the challenge of the PAYMENT-REQUIRED header ' +
    '(x402 extension sign-in-with-x) and send it as SIGN-IN-WITH-X within five minutes, once.',
);

/** The proof was good and has been used. */
export const SIGN_IN_USED = refuse(
  'wallet_sign_in_required',
  'This signature was used already. Sign the challenge of this reply’s PAYMENT-REQUIRED header.',
);

const OUT_OF_REACH = refuse(
  'chain_unavailable',
  'The chain cannot be reached now, so the wallet’s signature cannot be checked. Ask again.',
  { retryAfterSeconds: 2 },
);
