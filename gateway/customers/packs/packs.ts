import { hash } from 'node:crypto';
import { sql, type Kysely } from 'kysely';
import type { Clock, Random } from '../../ground/domain/ports.js';
import { refuse, type Refusal } from '../../ground/domain/refusal.js';
import {
  formatUsd,
  unixMillis,
  usdcUnits,
  type Address,
  type Bytes32,
} from '../../ground/domain/units.js';
import type { Sealing } from '../../ground/store/sealing.js';
import { sealName } from './sealed-keys.js';
import type { Store } from '../../ground/store/store.js';
import { createAccount } from '../accounts/accounts.js';
import { createKey, type ApiKey } from '../keys/format.js';
import { insertKey, type Keys } from '../keys/keys.js';
import type { PackTables } from './schema.js';
import type { PackSize } from './sizes.js';

/** The payment that a pack is sold for, as the ledger knows it. */
export interface PackPayment {
  readonly chainId: number;
  readonly asset: Address;
  readonly payer: Address;
  readonly nonce: Bytes32;
}

/**
 * Who asks for the key of a pack. `payer`: the wallet has just proved that it is there. Otherwise
 * the ticket of the quote that was paid, because payment and signature stand on the chain, where
 * anybody reads them.
 */
export type Claimant = { readonly kind: 'payer' } | { readonly kind: 'ticket'; ticket: string };

/** What a buyer gets: the bytes of the 200, the same each time. */
export interface PackReply {
  readonly kind: 'pack';
  readonly requestId: string;
  readonly body: Uint8Array;
}

/**
 * Packs: searches that one payment buys, with a key of their own and no person behind it. A pack is
 * written down before its payment can move (`prepare`), and opened once that has settled, by
 * whoever comes first: the buyer, the same payment again, or the recovery.
 */
export interface Packs {
  /** Writes down what a reserved payment buys, with a new key, sealed. Durable when it resolves. */
  prepare(
    requestId: string,
    sale: { size: PackSize; payment: PackPayment; ticket: string },
  ): Promise<void>;
  /**
   * The reply to a settled payment; opens the pack if nobody has. Refuses a claimant without the
   * right ticket, and everybody once the key was revoked or has expired. Undefined where the
   * request bought no pack.
   */
  deliver(requestId: string, claimant: Claimant): Promise<PackReply | Refusal | undefined>;
  /** Opens packs whose payment settled while nobody was there. Returns how many. */
  recover(): Promise<number>;
  /** Forgets keys that have ended, and packs that were never paid. Returns how many. */
  prune(): Promise<number>;
}

/** No payment settles later than this after it was reserved. */
const UNPAID_MS = 7 * 24 * 3600 * 1000;
/** Rows of one transaction of recovery or pruning, so that it holds nobody up. */
const ROWS_MAX = 200;

type Db = Kysely<PackTables>;

/** What is read here of the ledger's payments; it alone writes them. */
interface PaymentTables {
  payments: {
    request_id: string;
    chain_id: bigint;
    asset: string;
    payer: string;
    nonce: string;
    settled_at: bigint | null;
    released_at: bigint | null;
  };
}

export interface PackParts {
  readonly store: Store;
  readonly clock: Pick<Clock, 'now'>;
  readonly random: Random;
  readonly sealing: Sealing;
  readonly keys: Pick<Keys, 'forget'>;
  /** How long a new key works, in milliseconds. */
  readonly lifetimeMs: number;
}

export function openPacks(parts: PackParts): Packs {
  const { store, clock, random, sealing, lifetimeMs } = parts;
  const find = (requestId: string) =>
    store.read((db: Db) =>
      rowQuery(db).where('pack.request_id', '=', requestId).executeTakeFirst(),
    );

  const keyOf = (requestId: string, sealed: string): ApiKey =>
    sealing.open(sealName(requestId), sealed) as ApiKey;

  /** Makes the account and its key, once: one statement decides who does. */
  const open = (requestId: string) =>
    store.write(async (tx: Db) => {
      const now = clock.now();
      const row = await tx
        .updateTable('packs')
        .set({ opened_at: now })
        .where('request_id', '=', requestId)
        .where('opened_at', 'is', null)
        .returningAll()
        .executeTakeFirst();
      if (!row) return 'opened-before';
      const key = row.sealed_key === null ? newKey() : keyOf(requestId, row.sealed_key);
      // The secrets were replaced since. Nobody has seen the old key, so a new one does as well.
      if (row.sealed_key === null) await keep(tx, requestId, key);
      const searches = Number(row.searches);
      const name = `Pack of ${searches.toLocaleString('en-US')} searches`;
      const account = { id: row.account_id, name, plan: 'payg', credits: searches } as const;
      await createAccount(tx, { ...account, cause: 'pack', holder: 'wallet' }, now);
      const terms = { name, expiresAt: unixMillis(Number(row.expires_at)) };
      const of = { accountId: row.account_id, createdBy: null, terms, now };
      await insertKey(tx, { id: row.key_id, key }, of);
      return 'opened';
    });

  const newKey = () => createKey(random);
  const keep = (tx: Db, requestId: string, key: ApiKey) =>
    tx
      .updateTable('packs')
      .set({ sealed_key: sealing.seal(sealName(requestId), key) })
      .where('request_id', '=', requestId)
      .execute();

  return {
    async prepare(requestId, { size, payment, ticket }) {
      const now = clock.now();
      const sealed = sealing.seal(sealName(requestId), newKey());
      const row = {
        request_id: requestId,
        account_id: random.uuid(),
        key_id: random.uuid(),
        chain_id: payment.chainId,
        asset: payment.asset,
        payer: payment.payer,
        nonce: payment.nonce,
        ticket_hash: hashOf(ticket),
        sealed_key: sealed,
        searches: size.searches,
        amount: size.amount,
        created_at: now,
        expires_at: now + lifetimeMs,
      };
      await store.write((tx: Db) => tx.insertInto('packs').values(row).execute());
    },
    async deliver(requestId, claimant) {
      const found = await find(requestId);
      if (!found) return undefined;
      if (claimant.kind === 'ticket' && hashOf(claimant.ticket) !== found.ticket_hash)
        return FOREIGN;
      if (found.opened_at === null) await open(requestId);
      const row = found.opened_at === null ? await find(requestId) : found;
      if (typeof row?.sealed_key !== 'string' || row.revoked_at !== null) return ENDED;
      if (Number(row.key_expires_at) <= clock.now()) return ENDED;
      const key = keyOf(requestId, row.sealed_key);
      return { kind: 'pack', requestId, body: bodyOf(row, key) };
    },
    async recover() {
      const settled = await store.read((db: Kysely<PackTables & PaymentTables>) =>
        db
          .selectFrom('packs as pack')
          .innerJoin('payments as payment', (join) =>
            join
              .onRef('payment.chain_id', '=', 'pack.chain_id')
              .onRef('payment.asset', '=', 'pack.asset')
              .onRef('payment.payer', '=', 'pack.payer')
              .onRef('payment.nonce', '=', 'pack.nonce')
              .onRef('payment.request_id', '=', 'pack.request_id'),
          )
          .select('pack.request_id')
          .where('pack.opened_at', 'is', null)
          .where('payment.released_at', 'is', null)
          .where('payment.settled_at', 'is not', null)
          .limit(ROWS_MAX)
          .execute(),
      );
      let opened = 0;
      for (const { request_id } of settled) {
        if ((await open(request_id)) === 'opened') opened += 1;
      }
      return opened;
    },
    prune: () => store.write((tx: Db) => prune(tx, clock.now())),
  };
}

const hashOf = (ticket: string) => hash('sha256', ticket, 'hex');

function rowQuery(db: Db) {
  return db
    .selectFrom('packs as pack')
    .leftJoin('api_keys as key', 'key.id', 'pack.key_id')
    .selectAll('pack')
    .select(['key.revoked_at', 'key.expires_at as key_expires_at']);
}

type PackRow = NonNullable<Awaited<ReturnType<ReturnType<typeof rowQuery>['executeTakeFirst']>>>;

/** Everything in it was decided when the pack was written down, so it never changes. */
function bodyOf(row: PackRow, key: ApiKey): Uint8Array {
  const { request_id: requestId, account_id: id, searches, amount, expires_at } = row;
  const pack = {
    id,
    searches: Number(searches),
    amountUsd: formatUsd(usdcUnits(amount)),
    expiresAt: new Date(Number(expires_at)).toISOString(),
  };
  return Buffer.from(JSON.stringify({ requestId, key, pack }));
}

async function prune(tx: Db, now: number): Promise<number> {
  const ended = await tx
    .selectFrom('packs as pack')
    .innerJoin('api_keys as key', 'key.id', 'pack.key_id')
    .select('pack.request_id')
    .where('pack.sealed_key', 'is not', null)
    .where('pack.expires_at', '<=', BigInt(now))
    .where((where) =>
      where.or([
        where('key.revoked_at', 'is not', null),
        where('key.expires_at', '<=', BigInt(now)),
      ]),
    )
    .limit(ROWS_MAX)
    .execute();
  for (const { request_id } of ended) {
    await tx
      .updateTable('packs')
      .set({ sealed_key: null })
      .where('request_id', '=', request_id)
      .execute();
  }
  const unpaid = await tx
    .deleteFrom('packs')
    .where(
      'request_id',
      'in',
      tx
        .selectFrom('packs')
        .select('request_id')
        .where('opened_at', 'is', null)
        .where('created_at', '<', BigInt(Math.max(0, now - UNPAID_MS)))
        .where(
          sql<boolean>`not exists (select 1 from payments where payments.chain_id =
          packs.chain_id and payments.asset = packs.asset and payments.payer = packs.payer and
          payments.nonce = packs.nonce and payments.request_id = packs.request_id and
          payments.released_at is null and payments.failed_at is null)`,
        )
        .limit(ROWS_MAX),
    )
    .returning('request_id')
    .execute();
  const forgotten = await tx
    .deleteFrom('wallet_proofs')
    .where('forget_at', '<', BigInt(now))
    .returning('nonce')
    .execute();
  return ended.length + unpaid.length + forgotten.length;
}

const FOREIGN = refuse(
  'authorization_bound_to_other_request',
  'This payment was made for another quote. Only whoever was quoted gets the key: send the ' +
    'payment as it was first sent, or sign in with the wallet to list and revoke its keys.',
  { reason: 'authorization_bound_to_other_request' },
);

const ENDED = refuse(
  'invalid_api_key',
  'The key that this payment bought was revoked, has expired, or is no longer kept. It was paid ' +
    'once, and nothing more is charged. To go on, buy another pack.',
);
