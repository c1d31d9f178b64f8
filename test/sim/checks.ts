import { bytesToHex, parseTransaction } from 'viem';
import { statusOf, type PaymentStatus } from '../../gateway/money/ledger/status.js';
import { MULTICALL3 } from '../../gateway/money/payment/on-chain.js';
import { SETTLEMENT_DEFAULTS } from '../../gateway/money/settlement/settings.js';
import { reasons } from '../../gateway/money/x402/reasons.js';
import { address, type Bytes32 } from '../../gateway/ground/domain/units.js';
import type { Chain } from './chain/chain.js';
import { addressTopic, AUTHORIZATION_USED } from '../../gateway/money/settlement/results.js';
import type { Customers } from './customers.js';
import type { Disk } from './disk.js';
import type { Machine } from './machine.js';
import type { Engine } from './engine.js';
import { factsOf, rowsOf, type Row } from './payment-rows.js';
import { isBurner, payerKind, type SignedPayment } from './payers.js';
import type { SimSigner } from './relayers.js';
import type { Trace } from './trace.js';

export interface CheckParts {
  readonly chain: Chain;
  readonly disk: Disk;
  readonly customers: Customers;
  readonly engine: Engine;
  readonly payments: readonly SignedPayment[];
  readonly signers: readonly SimSigner[];
  readonly machines: readonly Machine[];
  readonly trace: Trace;
  readonly granted: number;
  violation(what: string): void;
}

/** A transfer of one authorization's money in the chain as it is in the end. */
interface Moved {
  readonly transaction: Bytes32;
  readonly isOurs: boolean;
}

function movesOf(chain: Chain, { authorization }: SignedPayment): Moved[] {
  const { from, nonce } = authorization;
  return chain.blocks.flatMap(({ mined }) =>
    mined.flatMap(({ transaction, logs }) =>
      logs.some(
        ({ topics: [event, payer, used] }) =>
          event === AUTHORIZATION_USED && payer === addressTopic(from) && used === nonce,
      )
        ? [{ transaction: transaction.hash, isOurs: transaction.kind === 'signed' }]
        : [],
    ),
  );
}

/** Every check that needs no process, on the disk and the chain as they are in the end. */
export function checkBooks(parts: CheckParts): void {
  const rows = rowsOf(parts.disk);
  checkPayments(parts, rows);
  checkHistory(parts);
  checkNonces(parts);
  checkCredits(parts);
  checkNeighbours(parts);
  for (const { status, failedCalls, facts } of rows) {
    parts.trace.count(`payment.${status}`);
    if (failedCalls > 0) parts.trace.count('payment.retried');
    if (facts.reorgedAt !== undefined) parts.trace.count('payment.reorged');
  }
}

/** I1, I2 and I6: one charge for each authorization, and what was delivered was paid. */
function checkPayments({ chain, customers, payments, trace, violation }: CheckParts, rows: Row[]) {
  for (const payment of payments) {
    const { nonce, from } = payment.authorization;
    const mine = rows.filter((row) => row.nonce === nonce && row.payer === from);
    const live = mine.filter(({ status }) => status !== 'released');
    const moves = movesOf(chain, payment);
    const deliveries = customers.deliveries.filter((one) => one.payment === payment);
    const bodies = new Set(deliveries.map(({ body }) => body));
    const [row] = live;
    if (live.length > 1) violation(`I1: ${payment.name} has ${live.length} live payments`);
    if (moves.length > 1) violation(`I1: ${payment.name} was moved ${moves.length} times`);
    if (bodies.size > 1) violation(`I1: ${payment.name} was delivered as ${bodies.size} searches`);
    const isPaid = row?.status === 'final' || row?.status === 'settled';
    const [move] = moves;
    if (isPaid) {
      if (!move) violation(`I2: ${payment.name} is ${row.status}, but nothing was moved`);
      else if (move.transaction !== row.transaction)
        violation(
          `I2: ${payment.name} settled in ${String(row.transaction)}, not ${move.transaction}`,
        );
      else if (!move.isOurs) trace.count('payment.adopted', payment.name);
      if (bodies.size > 0 && !bodies.has(row.body ?? ''))
        violation(`I1: what was delivered for ${payment.name} is not what is kept`);
    } else if (move?.isOurs) {
      violation(`I2: ${payment.name} is ${row?.status ?? 'unknown'}, but we moved its money`);
    }
    if (deliveries.length > 0 && !isPaid) {
      // The one excuse: it was paid, a reorganization took that back, and it cannot be paid again.
      const isExcused = row?.status === 'failed' && row.facts.reorgedAt !== undefined;
      if (!isExcused)
        violation(`I2: ${payment.name} was delivered, but is ${row?.status ?? 'unknown'}`);
      else trace.count('payment.lost-by-reorg', payment.name);
    }
    const isToldFailed = customers.givenUp.some(
      (one) => one.payment === payment && one.code === 'settlement_failed',
    );
    if (isToldFailed && (isPaid || move?.isOurs)) {
      // The one excuse: a reorganization put the failed call where it succeeds.
      const isExcused = isPaid && row.facts.reorgedAt !== undefined;
      if (!isExcused) violation(`I2: ${payment.name} was called failed and is paid`);
      else trace.count('payment.failure-reversed', payment.name);
    }
  }
  const open = rows.filter(({ status }) => !ENDS.has(status));
  if (open.length > 0) violation(`I6: ${open.length} payments are open when nothing runs`);
}

const ENDS = new Set<PaymentStatus>(['released', 'failed', 'settled', 'final']);

/** What may follow each state in which a payer has been answered. */
const AFTER_END: Partial<Record<PaymentStatus, readonly PaymentStatus[]>> = {
  released: ['released'],
  failed: ['failed'],
  final: ['final'],
  preconfirmed: ['preconfirmed', 'settled', 'reorged'],
  settled: ['settled', 'final', 'reorged'],
};

/**
 * I8: only reorganizations lead away from an end (settled → reorged, failed → settled), in every
 * state that the disk ever saw.
 */
function checkHistory({ disk, trace, violation }: CheckParts): void {
  const last = new Map<string, PaymentStatus>();
  for (const row of disk.query('select * from history order by step')) {
    const id = String(row.id);
    const status = statusOf(factsOf(row));
    const before = last.get(id);
    const allowed = before && AFTER_END[before];
    const isReversed =
      before === 'failed' && status === 'settled' && trace.counts.has('chain.reorg');
    if (allowed && !allowed.includes(status) && !isReversed)
      violation(`I8: payment ${id} went from ${before} to ${status}`);
    last.set(id, status);
  }
}

/** I7: relayer nonces are contiguous, one intent each; a replacement keeps its nonce and its call. */
function checkNonces({ chain, disk, signers, trace, violation }: CheckParts): void {
  const intents = disk.query('select * from intents order by relayer_nonce');
  const transactions = disk.query('select * from transactions');
  for (const { address } of signers) {
    const mine = intents.filter((intent) => intent.relayer === address);
    const used = Number(chain.head.after.nonces.get(address) ?? 0n);
    const known = new Set(mine.map((intent) => Number(intent.relayer_nonce)));
    const first = Number(chain.blocks[0]?.after.nonces.get(address) ?? 0n);
    const stolen =
      used - first - mine.filter((intent) => Number(intent.relayer_nonce) < used).length;
    // What a reorganization took from an intent without payments is made good at the next use.
    const highest = Math.max(-1, ...known);
    const isTaken = trace.counts.has('chain.reorg-of-transactions');
    if (highest >= used && !isTaken) violation(`I7: nonce ${highest} of ${address} was never used`);
    const thefts = trace.counts.get('stranger.took-nonce') ?? 0;
    if (stolen > thefts) violation(`I7: ${stolen} nonces of ${address} are not in the books`);
    for (const intent of mine) {
      if (intent.mined_at === null)
        violation(`I7: the intent of nonce ${String(intent.relayer_nonce)} is open`);
      if (intent.purpose === 'filler') trace.count('intent.filler');
      if (intent.call_to === MULTICALL3) trace.count('intent.shared');
    }
  }
  // Of worlds with one machine the key changes hands with each of its processes.
  const changed = disk.query('select relayer from lanes where epoch > 1');
  if (disk.isShared && changed.length > 0) trace.count('lane.changed-hands');
  for (const row of transactions) {
    const intent = intents.find((one) => one.id === row.intent_id);
    const signed = parseTransaction(bytesToHex(new Uint8Array(row.raw as ArrayBuffer)));
    const isSame =
      intent &&
      (signed.nonce ?? 0) === Number(intent.relayer_nonce) &&
      signed.to === intent.call_to &&
      (signed.data ?? '0x') === bytesToHex(new Uint8Array(intent.call_data as ArrayBuffer));
    if (!isSame) violation(`I7: ${String(row.hash)} is not what its intent says`);
    const { maxFeePerGasCap, batchGasMax } = SETTLEMENT_DEFAULTS;
    const isBounded =
      (signed.maxFeePerGas ?? 0n) <= maxFeePerGasCap && (signed.gas ?? 0n) <= batchGasMax;
    if (!isBounded) violation(`I9: ${String(row.hash)} is dearer than anything may be`);
  }
  const recorded = new Set(transactions.map((row) => row.hash));
  for (const { mined } of chain.blocks) {
    for (const { transaction } of mined) {
      if (transaction.kind === 'signed' && !recorded.has(transaction.hash))
        violation(`I7: ${transaction.hash} is on the chain and not in the books`);
    }
  }
}

/**
 * I10: nobody shares a transaction with a payer that was known to have code, and whoever shared one
 * with a payer that turned out to burn gas is tried alone before the payment fails.
 */
function checkNeighbours({ chain, disk, trace, violation }: CheckParts): void {
  const carried = disk.query(
    `select intent_id, payment_id, payer, nonce, failed_at, reason from intent_payments
      join payments on payments.id = payment_id`,
  );
  const neighbours = (intent: unknown) => carried.filter((row) => row.intent_id === intent);
  for (const { intent_id: intent, payer } of carried) {
    const isKnown = KNOWN_CODE.has(payerKind(address(String(payer))));
    if (isKnown && neighbours(intent).length > 1)
      violation(`I10: ${String(payer)} has code and shared a transaction`);
  }
  const burned = new Set(
    [...chain.everMade.values()].flatMap(({ mined }) =>
      mined.filter(({ burners }) => burners.size > 0).map(({ transaction }) => transaction.hash),
    ),
  );
  const harmed = disk
    .query('select hash, intent_id from transactions')
    .filter((row) => burned.has(row.hash as Bytes32))
    .flatMap((row) => neighbours(row.intent_id))
    .filter(({ payer }) => !isBurner(address(String(payer))));
  for (const { payment_id: id, nonce, failed_at: failedAt, reason } of harmed) {
    trace.count('payment.beside-burner', String(nonce));
    const tries = carried.filter((row) => row.payment_id === id);
    const wasAlone = tries.some((row) => neighbours(row.intent_id).length === 1);
    const isFailed = failedAt !== null && reason === reasons.transaction;
    if (isFailed && !wasAlone) violation(`I10: ${String(nonce)} failed for what another payer did`);
  }
}

/** Accounts whose code everybody can look up. */
const KNOWN_CODE = new Set<string>(['wallet', 'burner', 'delegate']);

/** I5: credits add up, none is left held, and only what was answered is spent. */
function checkCredits(parts: CheckParts): void {
  const { customers, disk, engine, machines, trace, granted, violation } = parts;
  const [balance] = disk.query('select * from credit_balances');
  if (!balance) return;
  const sum = (name: string) => Number(balance[name]);
  const [available, held, spent] = [sum('available'), sum('held'), sum('spent')];
  if (sum('granted') !== granted) violation(`I5: ${sum('granted')} credits instead of ${granted}`);
  if (available + held + spent !== granted || available < 0)
    violation(`I5: ${granted} granted, but ${available} + ${held} + ${spent}`);
  if (held !== 0) violation(`I5: ${held} credits are held when nothing runs`);
  const [moved] = disk.query(
    `select coalesce(sum(amount), 0) as spent from credit_transfers
      where posted_at is not null and credit = 'spent'`,
  );
  const transferred = Number(moved?.spent);
  if (transferred !== spent) violation(`I5: ${spent} spent, ${transferred} in transfers`);
  const ran = new Set(engine.runs.map(({ requestId }) => requestId));
  const charged = customers.keyedAsked.filter((id) => ran.has(id)).length;
  if (spent > charged) violation(`I5: ${spent} spent for ${charged} searches`);
  // A lease lapses after some seconds, and a clock that jumps makes seconds of a moment.
  if (trace.counts.has('clock.step')) return;
  const deaths = new Map(machines.flatMap(({ deaths: of }) => [...of]));
  const booked = customers.keyed.filter(
    ({ atMs, process }) => atMs <= (deaths.get(process) ?? Infinity) - UNBOOKED_MS_MAX,
  );
  if (spent < booked.length) violation(`I5: ${spent} spent for ${booked.length} answers`);
}

/** A crash costs at most the searches of so long. */
const UNBOOKED_MS_MAX = 1000;
