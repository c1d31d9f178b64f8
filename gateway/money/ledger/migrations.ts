import type { Migration, SqlWords } from '../../ground/store/migrations.js';

/**
 * The books. Amounts are decimal text because a uint256 exceeds every integer type that the two
 * engines share; times are Unix milliseconds unless the name says seconds; addresses, hashes and
 * nonces are lower-case hex with 0x.
 */
const payments = ({ int, bytes, strict }: SqlWords) => `create table payments (
  -- Names this reservation in logs, in joins and towards the settlement.
  id text not null primary key,
  -- What identifies an authorization on chain (EIP-3009): see payments_one_live below.
  chain_id ${int} not null,
  asset text not null,
  payer text not null,
  nonce text not null,
  -- The rest of what the payer signed: needed to make the transfer, whoever makes it.
  pay_to text not null,
  value text not null,
  valid_after_seconds ${int} not null,
  valid_before_seconds ${int} not null,
  signature text not null,
  -- Hash of the request that the authorization was first used for: another one is refused.
  binding text not null,
  -- The request that reserved, so that its log lines can be found from the books.
  request_id text not null,
  -- The gateway process that runs the search: when it is dead, its bare reservations are void.
  owner text not null,
  -- The payer's own idempotency id (x402 extension payment-identifier), where it sent one.
  payment_identifier text,
  reserved_at ${int} not null,
  -- Set with the reply below in one commit: from here on the payment has to be settled.
  served_at ${int},
  -- The exact bytes of the 200, so that every presenter gets the same; null again once pruned.
  reply_body ${bytes},
  reply_content_type text,
  reply_request_id text,
  -- First time that a transaction which carries this payment was signed, and last time that one
  -- was handed to the chain. Null again when a call failed that can be made once more.
  signed_at ${int},
  broadcast_at ${int},
  -- The transaction that carries the transfer now; once settled, the one that made it, which may
  -- be a stranger's.
  transaction_hash text,
  -- How often a transaction carried this payment and its call failed: bounds the attempts.
  failed_calls ${int} not null default 0,
  -- When the transfer was seen with the configured confirmations, and the block that holds it.
  settled_at ${int},
  block_number ${int},
  block_hash text,
  -- When that block was at or below the safe head: nothing needs watching any more.
  final_at ${int},
  -- Last time that a settled transfer had vanished from the canonical chain.
  reorged_at ${int},
  released_at ${int},
  failed_at ${int},
  -- Why it was released or failed: an x402 reason or a refusal code.
  reason text
) ${strict}`;

/** Decides every race for an authorization: one live row each, released ones do not count. */
const PAYMENTS_ONE_LIVE = `create unique index payments_one_live
  on payments (chain_id, asset, payer, nonce) where released_at is null`;

/** Finds what is not yet at its end, at start and while running, without reading the history. */
const PAYMENTS_OPEN = `create index payments_open on payments (reserved_at)
  where released_at is null and failed_at is null and settled_at is null`;

/** Finds what settled but is not yet below the safe head. */
const PAYMENTS_UNFINAL = `create index payments_unfinal on payments (block_number)
  where settled_at is not null and final_at is null`;

/** Lists by time, for the operator and for pruning. */
const PAYMENTS_BY_TIME = `create index payments_by_time on payments (reserved_at)`;

const intents = ({ int, bytes, strict }: SqlWords) => `create table intents (
  -- One use of one relayer nonce. Its transactions (first and replacements) share the nonce.
  id text not null primary key,
  chain_id ${int} not null,
  relayer text not null,
  relayer_nonce ${int} not null,
  -- 'transfer' moves payments; 'filler' is an empty transfer to oneself that closes a gap.
  purpose text not null,
  -- What every transaction of the intent calls: kept so that a replacement changes fees only.
  call_to text not null,
  call_data ${bytes} not null,
  gas_limit text not null,
  created_at ${int} not null,
  -- When one of its transactions was mined with the configured confirmations, and its hash.
  mined_at ${int},
  mined_hash text,
  unique (chain_id, relayer, relayer_nonce)
) ${strict}`;

/** Finds the nonces whose fate is open. */
const INTENTS_OPEN = `create index intents_open on intents (chain_id, relayer, relayer_nonce)
  where mined_at is null`;

const intentPayments = ({ int, strict }: SqlWords) => `create table intent_payments (
  intent_id text not null references intents (id),
  -- The position of the payment's call in the batch: results are read call by call.
  call_index ${int} not null,
  payment_id text not null references payments (id),
  primary key (intent_id, call_index)
) ${strict}`;

const INTENT_PAYMENTS_BY_PAYMENT = `create index intent_payments_by_payment
  on intent_payments (payment_id)`;

const transactions = ({ int, bytes, strict }: SqlWords) => `create table transactions (
  hash text not null primary key,
  intent_id text not null references intents (id),
  -- The signed bytes: broadcast again exactly as they are after a crash or a loss.
  raw ${bytes} not null,
  -- Wei per gas (EIP-1559): a replacement has to raise both by at least a tenth.
  max_fee_per_gas text not null,
  max_priority_fee_per_gas text not null,
  -- The transaction that this one replaces at the same nonce, if any.
  replaces text,
  -- Committed before the first broadcast: no transaction exists that the books do not know.
  signed_at ${int} not null,
  -- Last time that the bytes were handed to the chain, and how often.
  broadcast_at ${int},
  broadcasts ${int} not null default 0,
  -- Facts of the receipt: what it did, where, and what it cost (wei).
  mined_at ${int},
  block_number ${int},
  block_hash text,
  succeeded ${int},
  gas_used text,
  gas_price text
) ${strict}`;

const TRANSACTIONS_BY_INTENT = `create index transactions_by_intent on transactions (intent_id)`;

const gateways = ({ int, strict }: SqlWords) => `create table gateways (
  -- One process, from its start to its end.
  owner text not null primary key,
  -- Until when it counts as alive; renewed several times before.
  seen_until ${int} not null
) ${strict}`;

const lanes = ({ int, strict }: SqlWords) => `create table lanes (
  chain_id ${int} not null,
  relayer text not null,
  -- The process that alone may sign with this key, while it is alive.
  owner text not null,
  -- Rises with each change of hands: fences off a former holder that comes back to life.
  epoch ${int} not null,
  primary key (chain_id, relayer)
) ${strict}`;

/** A payer's own id names one payment; a released or failed one gives the id back. */
const PAYMENTS_ONE_IDENTIFIER = `create unique index payments_one_identifier
  on payments (payer, payment_identifier)
  where payment_identifier is not null and released_at is null and failed_at is null`;

/** Finds replies whose time has passed among those that are kept, which are few. */
const PAYMENTS_REPLIES = `create index payments_replies on payments (settled_at)
  where reply_body is not null`;

/** Finds failures that a reorganization may still turn around, which are few. */
const PAYMENTS_FAILED = `create index payments_failed on payments (failed_at)
  where failed_at is not null and final_at is null`;

/**
 * When the transfer was seen in a block that was still being made, where that is enough to answer
 * the payer. Null again when it vanished from there.
 */
const PAYMENTS_PRECONFIRMED = ({ int }: SqlWords) =>
  `alter table payments add column preconfirmed_at ${int}`;

/** The hash of the payer's code where it runs any in its transfer; null for a plain key. */
const PAYMENTS_PAYER_CODE = `alter table payments add column payer_code text`;

/** What the transaction of such a payer may use: counts against the hour's budget while it is open. */
const PAYMENTS_GAS_LIMIT = ({ int }: SqlWords) =>
  `alter table payments add column gas_limit ${int}`;

/** Decides every race for the one open payment of a payer with code, over all gateways. */
const PAYMENTS_ONE_BY_CODE = `create unique index payments_one_by_code on payments (payer)
  where payer_code is not null
    and released_at is null and failed_at is null and settled_at is null`;

const codeCalls = ({ int, strict }: SqlWords) => `create table code_calls (
  -- One call of a payer's code in a mined transaction: bars and the hour's budget go by these.
  intent_id text not null,
  payment_id text not null,
  payer text not null,
  -- The code that it ran: another account with the same code is no stranger.
  code text not null,
  -- Gas beyond what a plain transfer may use; all of it where nothing was moved.
  gas_wasted ${int} not null,
  moved ${int} not null,
  -- Whether no other payment shared the transaction: only then a failure is the payer's own.
  alone ${int} not null,
  called_at ${int} not null,
  primary key (intent_id, payment_id)
) ${strict}`;

const CODE_CALLS_BY_PAYER = `create index code_calls_by_payer on code_calls (payer, called_at)`;
const CODE_CALLS_BY_CODE = `create index code_calls_by_code on code_calls (code, called_at)`;
const CODE_CALLS_BY_TIME = `create index code_calls_by_time on code_calls (called_at)`;
const CODE_CALLS_BY_PAYMENT = `create index code_calls_by_payment on code_calls (payment_id)`;

/** Finds what became of an authorization whose payer asks, once its reservations were released. */
const PAYMENTS_RELEASED = `create index payments_released on payments (payer, nonce)
  where released_at is not null`;

/**
 * JSON of the channel and the salt where the payment is a deposit into a channel: the call that moves
 * its money repeats them. Null for a transfer.
 */
const PAYMENTS_DEPOSIT = `alter table payments add column deposit text`;

/** Wei for publishing it on the layer below, beyond its gas (`l1Fee` on Base); null on rows from before. */
const TRANSACTIONS_PUBLISHING_FEE = `alter table transactions add column publishing_fee text`;

/** The generation of the index that a kept reply was found in, for its receipt. */
const PAYMENTS_GENERATION = ({ int }: SqlWords) =>
  `alter table payments add column reply_generation ${int}`;

/** The ledger's part of the schema. */
export const LEDGER_MIGRATIONS: readonly Migration[] = [
  {
    name: 'ledger-001-payments',
    statements: (words) => [
      payments(words),
      PAYMENTS_ONE_LIVE,
      PAYMENTS_OPEN,
      PAYMENTS_UNFINAL,
      PAYMENTS_BY_TIME,
    ],
  },
  {
    name: 'ledger-002-transactions',
    statements: (words) => [
      intents(words),
      INTENTS_OPEN,
      intentPayments(words),
      INTENT_PAYMENTS_BY_PAYMENT,
      transactions(words),
      TRANSACTIONS_BY_INTENT,
    ],
  },
  {
    name: 'ledger-003-leases',
    statements: (words) => [gateways(words), lanes(words)],
  },
  { name: 'ledger-004-identifiers', statements: () => [PAYMENTS_ONE_IDENTIFIER] },
  { name: 'ledger-005-retention', statements: () => [PAYMENTS_REPLIES] },
  { name: 'ledger-006-open-failures', statements: () => [PAYMENTS_FAILED] },
  { name: 'ledger-007-preconfirmed', statements: (words) => [PAYMENTS_PRECONFIRMED(words)] },
  {
    name: 'ledger-008-code-payers',
    statements: (words) => [
      PAYMENTS_PAYER_CODE,
      PAYMENTS_GAS_LIMIT(words),
      PAYMENTS_ONE_BY_CODE,
      codeCalls(words),
      CODE_CALLS_BY_PAYER,
      CODE_CALLS_BY_CODE,
      CODE_CALLS_BY_TIME,
      CODE_CALLS_BY_PAYMENT,
    ],
  },
  { name: 'ledger-020-released', statements: () => [PAYMENTS_RELEASED] },
  { name: 'ledger-021-deposits', statements: () => [PAYMENTS_DEPOSIT] },
  { name: 'ledger-022-publishing-fees', statements: () => [TRANSACTIONS_PUBLISHING_FEE] },
  { name: 'ledger-023-generations', statements: (words) => [PAYMENTS_GENERATION(words)] },
];
