import { z } from 'zod';
import { parseAddress, parseUsd, type Address, type UsdcUnits } from './domain/units.js';

/**
 * How the text of a setting becomes a value. Each wing lists its own settings from these, with
 * what each means, its unit and its default. Here: a whole number from `min` to `max`.
 */
export const integer = (min: number, max: number, standard: number) =>
  wholeNumber(min, max).default(standard);

/** The same where the default is decided elsewhere. */
export const wholeNumber = (min: number, max: number) =>
  z
    .string()
    .regex(/^[0-9]{1,15}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().min(min, `must be at least ${min}`).max(max, `must be at most ${max}`));

/** `on` or `off`. */
export const switched = (standard: 'on' | 'off') =>
  z
    .enum(['on', 'off'], 'must be "on" or "off"')
    .default(standard)
    .transform((value) => value === 'on');

/** An http(s) URL. */
export const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http(s) URL' });

/** One to sixteen http(s) URLs, comma-separated. */
export const rpcUrls = z
  .string()
  .transform((text) => text.split(',').map((part) => part.trim()))
  .pipe(z.array(httpUrl).min(1).max(16));

/** A ws(s) URL without a fragment. */
export const webSocketUrl = z
  .url({ protocol: /^wss?$/, error: 'must be a ws(s) URL' })
  .refine((url) => !url.includes('#'), 'must be a ws(s) URL without a fragment');

/** One address of an account. */
export const account = z.string().transform((text, context): Address => {
  const parsed = parseAddress(text);
  if (parsed) return parsed;
  context.addIssue('must be an address (0x and 40 hex digits)');
  return z.NEVER;
});

/** Dollars above 0, in units of USDC. */
export const usd = (standard: string) =>
  z
    .string()
    .default(standard)
    .transform((text, context): UsdcUnits => {
      const parsed = parseUsd(text);
      if (parsed !== undefined && parsed > 0n) return parsed;
      context.addIssue('must be dollars above 0 with at most 6 decimals, such as 0.00005');
      return z.NEVER;
    });

/** At most 64 such addresses, comma-separated. */
export const accounts = z
  .string()
  .default('')
  .transform((text) => text.split(',').flatMap((part) => part.trim() || []))
  .pipe(z.array(account).max(64));

const SECRET = '(?:[0-9a-fA-F]{2}){32,64}';
/** One secret, or the new one and older ones that still count. */
export const secrets = z
  .string()
  .regex(
    new RegExp(`^${SECRET}(?:,${SECRET}){0,3}$`),
    'must be 64 to 128 hex digits, or several such',
  )
  .transform((text) => text.split(',').map((one) => Uint8Array.from(Buffer.from(one, 'hex'))));

/** A private key of secp256k1. */
export const privateKey = z.string().regex(/^0x[0-9a-fA-F]{64}$/, 'must be 0x and 64 hex digits');

/** Comma-separated words. */
export const words = z
  .string()
  .default('')
  .transform((text) => text.split(',').flatMap((part) => part.trim() || []));

/** The settings cannot be used; `problems` has one sentence for each fault and no values. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  constructor(readonly problems: readonly string[]) {
    super(problems.join('\n'));
  }
}
