import { sql, type Kysely } from 'kysely';
import type { Clock } from '../../ground/domain/ports.js';
import { formatUsd, usdcUnits, type Address, type UsdcUnits } from '../../ground/domain/units.js';
import type { Store } from '../../ground/store/store.js';
import { maskKey } from '../keys/format.js';
import { keyState, type Keys } from '../keys/keys.js';
import type { Credits } from '../credits/credits.js';
import type { AccountTables } from '../credits/schema.js';
import type { PackTables } from './schema.js';

/** A pack as the wallet that paid sees it. Times are ISO 8601. */
export interface PackView {
  readonly id: string;
  readonly key: string;
  readonly state: 'live' | 'revoked' | 'expired';
  /** Searches that were bought, top-ups included, and those that are left. */
  readonly searches: number;
  readonly left: number;
  readonly amountUsd: string;
  readonly boughtAt: string;
  readonly expiresAt: string;
  readonly lastUsedAt: string | null;
}

/** What the operator sees of packs. */
export interface PackFigures {
  readonly sold: number;
  /** Atomic USDC that packs were sold for. */
  readonly revenue: UsdcUnits;
  /** Searches that were paid and may still be asked for. */
  readonly owed: number;
}

/** A wallet that has shown that it is there, by a proof that is good once. */
interface Proved {
  readonly address: Address;
  readonly nonce: string;
}

/** Packs as those hold them who paid, by their wallets alone. */
export interface PackHolders {
  /** The wallet's packs, the newest first; `used` when the proof was shown before. */
  list(wallet: Proved): Promise<readonly PackView[] | 'used'>;
  /** Ends a key of this wallet for good; once more changes nothing. */
  revoke(wallet: Proved, packId: string): Promise<'revoked' | 'not-found' | 'used'>;
  figures(): Promise<PackFigures>;
}

const SHOWN_MAX = 500;
/** A proof has expired after this, in milliseconds: nobody need remember that it was used. */
const PROOF_MS = 10 * 60 * 1000;

type Db = Kysely<PackTables>;

export function openPackHolders(parts: {
  readonly store: Store;
  readonly clock: Pick<Clock, 'now'>;
  readonly keys: Pick<Keys, 'forget'>;
  readonly credits: Pick<Credits, 'settle'>;
}): PackHolders {
  const { store, clock, keys, credits } = parts;
  return {
    async list(wallet) {
      const held = await store.read((db: Db) => viewQuery(db, wallet.address).execute());
      // A stranger's proof is not worth a write.
      if (held.length === 0) return [];
      const isFirst = await store.write((tx: Db) => use(tx, wallet, clock.now()));
      if (!isFirst) return 'used';
      await Promise.all(held.map(({ account_id: id }) => credits.settle(id)));
      const rows = await store.read((db: Db) => viewQuery(db, wallet.address).execute());
      return rows.map((row) => viewOf(row, clock.now()));
    },
    async revoke(wallet, packId) {
      const outcome = await store.write(async (tx: Db) => {
        const pack = await tx
          .selectFrom('packs')
          .select(['request_id', 'key_id'])
          .where('account_id', '=', packId)
          .where('payer', '=', wallet.address)
          .where('opened_at', 'is not', null)
          .executeTakeFirst();
        if (!pack) return 'not-found';
        if (!(await use(tx, wallet, clock.now()))) return 'used';
        await tx
          .updateTable('api_keys')
          .set({ revoked_at: clock.now() })
          .where('id', '=', pack.key_id)
          .where('revoked_at', 'is', null)
          .execute();
        await tx
          .updateTable('packs')
          .set({ sealed_key: null })
          .where('request_id', '=', pack.request_id)
          .execute();
        return 'revoked';
      });
      if (outcome === 'revoked') keys.forget();
      return outcome;
    },
    figures: () => store.read((db: Db) => figures(db, clock.now())),
  };
}

/** Moves the end of a pack's key, where an account is one: called when it was topped up. */
export async function prolongPack(
  accounts: Kysely<AccountTables>,
  accountId: string,
  until: number,
): Promise<'prolonged' | 'no-pack'> {
  const tx = accounts.withTables<Pick<PackTables, 'packs'>>();
  const prolonged = await tx
    .updateTable('api_keys')
    .set({ expires_at: until })
    .where('id', '=', (of) =>
      of.selectFrom('packs').select('key_id').where('account_id', '=', accountId),
    )
    .where('expires_at', '<', BigInt(until))
    .returning('id')
    .execute();
  return prolonged.length > 0 ? 'prolonged' : 'no-pack';
}

async function use(tx: Db, { address, nonce }: Proved, now: number): Promise<boolean> {
  const used = await tx
    .insertInto('wallet_proofs')
    .values({ address, nonce, forget_at: now + PROOF_MS })
    .onConflict((conflict) => conflict.doNothing())
    .returning('nonce')
    .execute();
  return used.length === 1;
}

function viewQuery(db: Db, payer: Address) {
  return db
    .selectFrom('packs as pack')
    .innerJoin('api_keys as key', 'key.id', 'pack.key_id')
    .innerJoin('credit_balances as balance', 'balance.account_id', 'pack.account_id')
    .select([
      'pack.account_id',
      'pack.amount',
      'pack.created_at',
      'key.last4',
      'key.revoked_at',
      'key.expires_at',
      'key.last_used_at',
      'balance.granted',
      'balance.spent',
    ])
    .where('pack.payer', '=', payer)
    .orderBy('pack.created_at', 'desc')
    .orderBy('pack.request_id')
    .limit(SHOWN_MAX);
}

type ViewRow = Awaited<ReturnType<ReturnType<typeof viewQuery>['execute']>>[number];

function viewOf(row: ViewRow, now: number): PackView {
  const number = (value: bigint | null) => (value === null ? undefined : Number(value));
  const revokedAt = number(row.revoked_at);
  const expiresAt = number(row.expires_at);
  if (expiresAt === undefined) throw new Error('a pack’s key without an end');
  const isoOf = (at: number) => new Date(at).toISOString();
  const lastUsedAt = number(row.last_used_at);
  return {
    id: row.account_id,
    key: maskKey(row.last4),
    state: keyState(
      { ...(revokedAt !== undefined && { revokedAt }), expiresAt: expiresAt as never },
      now,
    ),
    searches: Number(row.granted),
    left: Number(row.granted - row.spent),
    amountUsd: formatUsd(usdcUnits(row.amount)),
    boughtAt: isoOf(Number(row.created_at)),
    expiresAt: isoOf(expiresAt),
    lastUsedAt: lastUsedAt === undefined ? null : isoOf(lastUsedAt),
  };
}

async function figures(db: Db, now: number): Promise<PackFigures> {
  const sum = (column: string) => sql<bigint>`cast(coalesce(sum(${sql.ref(column)}), 0) as bigint)`;
  const [sold, owed] = await Promise.all([
    db
      .selectFrom('packs')
      .select(({ fn }) => [fn.countAll<bigint>().as('count'), sum('amount').as('revenue')])
      .where('opened_at', 'is not', null)
      .executeTakeFirstOrThrow(),
    db
      .selectFrom('packs as pack')
      .innerJoin('api_keys as key', 'key.id', 'pack.key_id')
      .innerJoin('credit_balances as balance', 'balance.account_id', 'pack.account_id')
      .select([sum('balance.granted').as('granted'), sum('balance.spent').as('spent')])
      .where('key.revoked_at', 'is', null)
      .where('key.expires_at', '>', BigInt(now))
      .executeTakeFirstOrThrow(),
  ]);
  return {
    sold: Number(sold.count),
    revenue: usdcUnits(sold.revenue),
    owed: Number(owed.granted - owed.spent),
  };
}
