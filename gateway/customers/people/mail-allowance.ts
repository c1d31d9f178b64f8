import type { Kysely } from 'kysely';
import type { Clock } from '../../ground/domain/ports.js';
import type { Store } from '../../ground/store/store.js';
import type { PeopleTables } from './schema.js';

/** Why a mail is sent. Each has an allowance of its own, so that none uses up another's. */
export type MailKind = 'sign-up' | 'reset' | 'invitation' | 'wallet-added';

interface Allowance {
  /** Mails that may go at once. */
  readonly burst: number;
  /** Milliseconds until one more may. */
  readonly everyMs: number;
}

const HOUR_MS = 3600 * 1000;

/**
 * To one recipient at most 20 mails of a kind in a day, whoever asks for them. The allowance comes
 * back bit by bit: whoever uses up somebody's allowance of links sends them a link every two hours.
 */
const PER_RECIPIENT: Allowance = { burst: 8, everyMs: 2 * HOUR_MS };
/** One sender uses up half of a recipient's allowance at most. */
const PER_SENDER: Allowance = { burst: 4, everyMs: 2 * HOUR_MS };

export const MAILS_A_DAY_MAX = PER_RECIPIENT.burst + (24 * HOUR_MS) / PER_RECIPIENT.everyMs;

export interface MailAllowances {
  /**
   * Takes one mail from a recipient's allowance, whether or not somebody reads mail there.
   *
   * @param sender who asks for it: a network address, or an account.
   * @returns 0 when it may go, else milliseconds until the next one may.
   */
  take(kind: MailKind, recipient: string, sender: string): Promise<number>;
}

export function openMailAllowances(store: Store, clock: Clock): MailAllowances {
  return {
    take: (kind, recipient, sender) =>
      store.write(async (tx: Kysely<PeopleTables>) => {
        const to = nameOf(kind, recipient);
        const now = clock.now();
        return takeAll(tx, [
          await nextOf(tx, to, PER_RECIPIENT, now),
          await nextOf(tx, `${to} ${sender}`, PER_SENDER, now),
        ]);
      }),
  };
}

/**
 * Takes one mail that somebody causes to themselves, in the transaction of what it tells of.
 *
 * @returns 0 when it may go, else milliseconds until the next one may.
 */
export async function takeOwnMail(
  tx: Kysely<PeopleTables>,
  kind: MailKind,
  recipient: string,
  now: number,
): Promise<number> {
  return takeAll(tx, [await nextOf(tx, nameOf(kind, recipient), PER_RECIPIENT, now)]);
}

const nameOf = (kind: MailKind, recipient: string): string => `${kind} ${recipient.toLowerCase()}`;

/** What taking one mail would leave of an allowance. */
interface Next {
  readonly name: string;
  readonly fullAt: number;
  readonly waitMs: number;
}

/** Takes from all of them, or from none. */
async function takeAll(tx: Kysely<PeopleTables>, allowances: readonly Next[]): Promise<number> {
  const waitMs = Math.max(...allowances.map((one) => one.waitMs));
  if (waitMs > 0) return waitMs;
  for (const { name, fullAt } of allowances) {
    await tx
      .insertInto('mail_allowances')
      .values({ name, full_at: fullAt })
      .onConflict((conflict) => conflict.column('name').doUpdateSet({ full_at: fullAt }))
      .execute();
  }
  return 0;
}

/** The generic cell rate algorithm (ITU-T I.371): one time says how much is left. */
async function nextOf(
  tx: Kysely<PeopleTables>,
  name: string,
  { burst, everyMs }: Allowance,
  now: number,
): Promise<Next> {
  const row = await tx
    .selectFrom('mail_allowances')
    .select('full_at')
    .where('name', '=', name)
    .executeTakeFirst();
  const fullAt = Math.max(Number(row?.full_at ?? 0), now) + everyMs;
  return { name, fullAt, waitMs: Math.max(0, fullAt - now - burst * everyMs) };
}
