import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import {
  bytes32,
  unixMillis,
  type Address,
  type Bytes32,
} from '../../../gateway/ground/domain/units.js';
import {
  CODE_PAYER_LIMITS,
  CodePayerBooks,
  recordCodeCalls,
  type CodeCall,
} from '../../../gateway/money/ledger/code-payers.js';
import { createLedger } from '../../../gateway/money/ledger/ledger.js';
import { OutcomeBooks } from '../../../gateway/money/ledger/outcome-books.js';
import type { LedgerTx } from '../../../gateway/money/ledger/transition.js';
import { LEDGER_MIGRATIONS } from '../../../gateway/money/ledger/migrations.js';
import { BINDING, someAuthorization, someReply } from '../../support/payments.js';
import { realClock, realRandom } from '../../support/ports.js';
import { startPostgres, type TestPostgres } from '../../support/postgres.js';
import { temporaryStore } from '../../support/stores.js';

let server: TestPostgres;
const discards: (() => Promise<void>)[] = [];
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());
afterEach(async () => {
  for (const discard of discards.splice(0)) await discard();
});

const CODE = bytes32(`0x${'c0'.repeat(32)}`);
const GAS = 120_000n;
const MINUTE_MS = 60_000;
const payer = { code: CODE, gasLimit: GAS };

/** The books of one gateway, with a wall clock that the test moves. */
async function open(location?: string) {
  const { store, discard } = await temporaryStore(LEDGER_MIGRATIONS, location);
  discards.push(discard);
  let nowMs = realClock.now();
  const clock = { now: () => nowMs };
  const ledger = createLedger({ store, clock, random: realRandom, owner: realRandom.uuid() });
  const books = new CodePayerBooks(store, clock);
  const outcomes = new OutcomeBooks(store, clock);
  const reserve = (more: Partial<ReturnType<typeof someAuthorization>> = {}, codePayer = payer) =>
    ledger.reserveForCode(codePayer, someAuthorization(more), BINDING, 'request');
  const call = (from: Address, isMoved: boolean, more: Partial<CodeCall> = {}) =>
    store.write((tx: LedgerTx) =>
      recordCodeCalls(
        tx,
        [
          {
            ...{ intentId: realRandom.uuid(), paymentId: realRandom.uuid() },
            ...{ payer: from, code: CODE },
            ...{ gasWasted: isMoved ? 0n : GAS, isMoved, isAlone: true },
            ...more,
          },
        ],
        BigInt(nowMs),
      ),
    );
  const objection = (from: Address, code: Bytes32 = CODE) =>
    books.objection(from, { code }, CODE_PAYER_LIMITS);
  const pass = (ms: number) => {
    nowMs = unixMillis(nowMs + ms);
  };
  return { ledger, books, outcomes, reserve, call, objection, pass };
}

const someone = () => someAuthorization().from;

describe.each(['SQLite', 'PostgreSQL'])('a payer with code, in %s', (engine) => {
  const place = () => (engine === 'PostgreSQL' ? server.url : undefined);

  test('is barred by the commit that records the receipt of its failure', async () => {
    const { books, objection, outcomes } = await open(place());
    const from = someone();
    const paymentId = realRandom.uuid();
    const intentId = realRandom.uuid();
    const hash = bytes32(`0x${'7a'.repeat(32)}`);
    const receipt = { hash, block: { number: 1n, hash }, succeeded: false, gasUsed: GAS };
    const code = bytes32(`0x${'c3'.repeat(32)}`);
    const call = { intentId, paymentId, payer: from, code, gasWasted: GAS };
    await outcomes.recordMined(
      intentId,
      { ...receipt, gasPrice: 1n, publishingFee: 1n },
      [],
      [{ ...call, isMoved: false, isAlone: true }],
    );
    expect(await books.hasFailedAlone(paymentId)).toBe(true);
    expect(await objection(from, code)).toMatchObject({ kind: 'barred' });
  });

  test('has one open payment: of 50 reservations at once one is made, and the next after its end', async () => {
    const { ledger, reserve } = await open(place());
    const from = someone();
    const answers = await Promise.all(Array.from({ length: 50 }, () => reserve({ from })));
    const made = answers.flatMap((answer) => (answer.kind === 'reserved' ? [answer.payment] : []));
    expect(made).toHaveLength(1);
    expect(answers.filter(({ kind }) => kind === 'deferred')).toHaveLength(49);
    expect(made[0]?.codePayer).toEqual(payer);
    await ledger.release(made[0]?.id ?? '', 'upstream_error');
    expect((await reserve({ from })).kind).toBe('reserved');
  });

  test('finds its own payment again when it sends it again', async () => {
    const { ledger, reserve } = await open(place());
    const authorization = someAuthorization();
    const first = await reserve(authorization);
    const again = await reserve(authorization);
    expect(again).toMatchObject({ kind: 'exists' });
    if (first.kind !== 'reserved') throw new Error(first.kind);
    await ledger.serve(first.payment.id, someReply());
    expect((await reserve(authorization)).kind).toBe('exists');
  });

  test('is barred after a failure, four times as long after each further one, at most a day', async () => {
    const { call, objection, pass } = await open(place());
    const [from, code] = [someone(), bytes32(`0x${'c1'.repeat(32)}`)];
    for (const minutes of [1, 4, 16, 64, 256, 1024, 1440, 1440]) {
      await call(from, false, { code });
      pass(minutes * MINUTE_MS - 1);
      expect(await objection(from, code)).toEqual({ kind: 'barred', retryAfterSeconds: 1 });
      pass(1);
      expect(await objection(from, code)).toBeUndefined();
    }
    await call(from, true, { code });
    await call(from, false, { code });
    pass(MINUTE_MS);
    expect(await objection(from, code)).toBeUndefined();
  });

  test('with the code of one that failed is barred, unless it has paid before or others have', async () => {
    const { call, objection } = await open(place());
    const code = bytes32(`0x${'c2'.repeat(32)}`);
    const [burner, regular, newcomer] = [someone(), someone(), someone()];
    await call(regular, true, { code });
    await call(burner, false, { code });
    expect(await objection(newcomer, code)).toBeUndefined();
    await call(burner, false, { code });
    expect(await objection(newcomer, code)).toMatchObject({ kind: 'barred' });
    expect(await objection(regular, code)).toBeUndefined();
    expect(await objection(newcomer, CODE)).toBeUndefined();
  });
});

test('payers with code share a budget of an hour, of what burned and what is open', async () => {
  const { reserve, call, objection, pass, ledger } = await open();
  const budget = CODE_PAYER_LIMITS.gasPerHour;
  await call(someone(), false, {
    gasWasted: budget - 2n * GAS,
    code: bytes32(`0x${'1'.repeat(64)}`),
  });
  const first = await reserve();
  expect(first.kind).toBe('reserved');
  expect((await reserve()).kind).toBe('reserved');
  expect(await reserve()).toEqual({ kind: 'deferred', objection: { kind: 'budget-used' } });
  // Plain keys go on.
  expect((await ledger.reserve(someAuthorization(), BINDING, 'request')).kind).toBe('reserved');
  if (first.kind !== 'reserved') throw new Error(first.kind);
  await ledger.release(first.payment.id, 'upstream_error');
  expect((await reserve()).kind).toBe('reserved');
  pass(60 * MINUTE_MS + 1);
  expect(await objection(someone())).toBeUndefined();
  expect((await reserve()).kind).toBe('reserved');
});

test('bars and budget outlast a restart, and two gateways share them', async () => {
  const [one, other] = [await open(server.url), await open(server.url)];
  const [from, code] = [someone(), bytes32(`0x${'c3'.repeat(32)}`)];
  await one.call(from, false, { code });
  expect(await other.objection(from, code)).toMatchObject({ kind: 'barred' });
  const holder = someone();
  expect((await one.reserve({ from: holder })).kind).toBe('reserved');
  expect(await other.reserve({ from: holder })).toMatchObject({
    objection: { kind: 'open-payment' },
  });
});
