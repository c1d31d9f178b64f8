import { z } from 'zod';
import { parseUsd } from '../ground/domain/units.js';
import { integer, switched, words } from '../ground/setting-kinds.js';
import type { PackSetting } from './packs/sizes.js';

/** `1000` at the price of its searches, `10000=0.45` at a price of its own; `off` for none. */
const packs = z
  .string()
  .default('1000')
  .transform((text, context): readonly PackSetting[] => {
    if (text === 'off') return [];
    const sizes = text.split(',').map(packOf);
    const known = sizes.filter((size) => size !== undefined);
    const isDifferent = new Set(known.map(({ searches }) => searches)).size === sizes.length;
    if (isDifferent && sizes.length <= PACKS_MAX) return known;
    context.addIssue('must be searches, or searches=USD, such as 1000,10000=0.45; or "off"');
    return z.NEVER;
  });

const PACKS_MAX = 16;

function packOf(text: string): PackSetting | undefined {
  const match = /^ *([1-9][0-9]{0,8})(?:=([0-9.]{1,16}))? *$/.exec(text);
  if (!match) return undefined;
  const [, searches, usd] = match;
  if (usd === undefined) return { searches: Number(searches) };
  const amount = parseUsd(usd);
  return amount !== undefined && amount > 0n ? { searches: Number(searches), amount } : undefined;
}

/** Settings of people and limits: mail, sign-in, and what callers without a key may ask. */
export const CUSTOMER_SETTINGS = {
  /** Mail server for people's sign-up and invitations: `smtp://user:password@host:port`; without it
   * mail stays in the database. */
  SMTP_URL: z
    .string()
    .regex(/^smtps?:\/\//, 'must begin with smtp:// or smtps://')
    .optional(),
  /** Sender of that mail. */
  MAIL_FROM: z.string().min(3).max(320).default('search402 <search402@localhost>'),
  /** E-mail addresses of those who see the console's operator page, comma-separated. */
  OPERATOR_EMAILS: words,
  /** Whether people can sign in to the console with an Ethereum wallet. */
  WALLET_SIGN_IN: switched('on'),
  /** Packs on sale without an account: searches, or searches=USD, comma-separated; or `off`. */
  PACKS: packs,
  /** Days for which the key of a pack works; a top-up counts them anew. */
  PACK_DAYS: integer(1, 365, 365),
  /** Requests a second without a key, from one network address; and what they may cost. */
  ADDRESS_RATE: integer(1, 1_000_000, 100),
} as const;
