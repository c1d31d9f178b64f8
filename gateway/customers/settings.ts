import { z } from 'zod';
import { integer, switched, words } from '../ground/setting-kinds.js';

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
  /** Searches a day that the front page gives each network address; 0 gives none away. */
  FREE_SEARCHES_PER_DAY: integer(0, 1000, 10),
  /** Requests a second without a key, from one network address; and what they may cost. */
  ADDRESS_RATE: integer(1, 1_000_000, 100),
} as const;
