import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { unixSeconds } from '../../../gateway/ground/domain/units.js';
import { createLedger, type Ledger } from '../../../gateway/money/ledger/ledger.js';
import { LEDGER_MIGRATIONS } from '../../../gateway/money/ledger/migrations.js';
import type { Payment } from '../../../gateway/money/ledger/payment.js';
import { TransferBooks } from '../../../gateway/money/ledger/transfers.js';
import { FacilitatedSettlement } from '../../../gateway/money/settlement/facilitated.js';
import { createFacilitator } from '../../../gateway/money/settlement/facilitator.js';
import { createRpcChain } from '../../../gateway/money/settlement/rpc-chain.js';
import { SETTLEMENT_DEFAULTS } from '../../../gateway/money/settlement/settings.js';
import { startTestChain, type TestChain } from '../../support/chain.js';
import { startFacilitator, INVENTED, type TestFacilitator } from '../../support/facilitator.js';
import { BINDING, someReply } from '../../support/payments.js';
import { realClock, realRandom, silentLog } from '../../support/ports.js';
import { terms } from '../../support/presented.js';
import { countingRpc } from '../../support/settlements.js';
import { temporaryStore } from '../../support/stores.js';
import { until } from '../../support/until.js';

let chain: TestChain;
let facilitator: TestFacilitator;
const cleanups: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  chain = await startTestChain();
});
afterAll(() => chain.stop());
beforeEach(async () => {
  facilitator = await startFacilitator(chain);
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
  await facilitator.stop();
});

const WAIT = { waitMs: 20_000 };

interface Desk {
  readonly settlement: FacilitatedSettlement;
  readonly ledger: Ledger;
  readonly location: string;
  /** Ends it as a kill would: nothing is finished. */
  crash(): Promise<void>;
}

/** A ledger and a started settlement that hands over to the facilitator. */
async function open(
  options: { location?: string; timeoutMs?: number; confirmations?: number } = {},
): Promise<Desk> {
  const { store, location, discard } = await temporaryStore(LEDGER_MIGRATIONS, options.location);
  const ports = { clock: realClock, random: realRandom };
  const ledger = createLedger({ store, ...ports, owner: realRandom.uuid() });
  const { timeoutMs = 5_000, confirmations = 1 } = options;
  const settlement = new FacilitatedSettlement(
    {
      chain: createRpcChain(chain.chainId, countingRpc(chain.rpcUrl)),
      ledger,
      books: new TransferBooks(store, realClock),
      ...ports,
      log: silentLog,
      settings: { ...SETTLEMENT_DEFAULTS, blockTimeMs: 250, housekeepingMs: 200, confirmations },
    },
    createFacilitator({ url: facilitator.url, timeoutMs, terms: terms() }),
    { retryMs: 500, atOnceMax: 4 },
  );
  await settlement.start();
  const stop = () => settlement.drain({ deadlineMs: 0 });
  cleanups.unshift(async () => {
    await stop();
    await discard();
  });
  return {
    settlement,
    ledger,
    location,
    crash: async () => {
      await stop();
      await store.close();
    },
  };
}

async function served({ ledger }: Desk, more: { validForSeconds?: number } = {}): Promise<Payment> {
  const payer = await chain.newPayer({ usdc: 100n });
  const validBefore = unixSeconds(Math.floor(Date.now() / 1000) + (more.validForSeconds ?? 300));
  const authorization = await chain.sign(payer, { value: 50n, validBefore });
  const { payment } = await ledger.reserve(authorization, BINDING, 'request');
  await ledger.serve(payment.id, someReply());
  return payment;
}

const transfersOf = ({ authorization }: Payment) => chain.transfers(authorization.from);

describe('a payment that a facilitator settles', () => {
  test('is settled by the transaction that it names, once the chain shows it', async () => {
    const desk = await open({ confirmations: 2 });
    const payment = await served(desk);
    const outcome = await desk.settlement.settle(payment.id, WAIT);
    const [transfer, ...more] = await transfersOf(payment);
    expect(transfer).toMatchObject({ to: chain.payTo, value: 50n });
    expect(more).toEqual([]);
    expect(outcome).toMatchObject({
      kind: 'settled',
      transaction: transfer?.transaction,
      reply: someReply(),
    });
    expect(facilitator.calls('settle')).toBe(1);
  });

  test('although its answer is lost is adopted from the chain, without asking again', async () => {
    const desk = await open();
    facilitator.next('settle', 'cut-after');
    const payment = await served(desk);
    expect(await desk.settlement.settle(payment.id, WAIT)).toMatchObject({ kind: 'settled' });
    expect(facilitator.calls('settle')).toBe(1);
    expect(await transfersOf(payment)).toHaveLength(1);
  });

  test('is pending, never failed, while it says nothing, and is settled when it does', async () => {
    const desk = await open({ timeoutMs: 300 });
    facilitator.always('settle', 'hang');
    const payment = await served(desk);
    expect(await desk.settlement.settle(payment.id, { waitMs: 1500 })).toMatchObject({
      kind: 'pending',
    });
    facilitator.always('settle', 'honest');
    expect(await desk.settlement.outcome(payment.id, WAIT)).toMatchObject({ kind: 'settled' });
    expect(await transfersOf(payment)).toHaveLength(1);
  });

  test.each(['garbage', 'error', 'redirect'] as const)(
    'survives an answer that is none (%s)',
    async (behaviour) => {
      const desk = await open();
      facilitator.next('settle', behaviour);
      const payment = await served(desk);
      expect(await desk.settlement.settle(payment.id, WAIT)).toMatchObject({ kind: 'settled' });
      expect(await transfersOf(payment)).toHaveLength(1);
    },
  );

  test('is not delivered for a transaction that the chain does not have', async () => {
    const desk = await open();
    facilitator.always('settle', 'lie');
    const payment = await served(desk);
    expect(await desk.settlement.settle(payment.id, { waitMs: 1200 })).toEqual({
      kind: 'pending',
      transaction: INVENTED,
    });
    facilitator.always('settle', 'honest');
    const outcome = await desk.settlement.outcome(payment.id, WAIT);
    const [transfer] = await transfersOf(payment);
    expect(outcome).toMatchObject({ kind: 'settled', transaction: transfer?.transaction });
  });

  test('is tried again when it refuses a payment that the chain finds good', async () => {
    const desk = await open();
    facilitator.next('settle', 'refuse');
    const payment = await served(desk);
    expect(await desk.settlement.settle(payment.id, WAIT)).toMatchObject({ kind: 'settled' });
    expect(facilitator.calls('settle')).toBe(2);
    expect(await transfersOf(payment)).toHaveLength(1);
  });

  test('is pending when it speaks of failure beside a hash, and is adopted from the chain', async () => {
    const desk = await open({ confirmations: 3 });
    facilitator.next('settle', 'fail-named');
    const payment = await served(desk);
    const { from } = payment.authorization;
    const settling = desk.settlement.settle(payment.id, WAIT);
    await until(async () => (await transfersOf(payment)).length === 1);
    // Its money is gone, as after any transfer: that is no reason to call the payment failed.
    await chain.fund([from], 0n);
    expect(await settling).toMatchObject({ kind: 'settled' });
    expect(facilitator.calls('settle')).toBe(1);
  });

  test('never fails by an answer that names a transaction, before its window has closed', async () => {
    const desk = await open();
    facilitator.always('settle', 'refuse-named');
    const payment = await served(desk, { validForSeconds: 5 });
    await chain.fund([payment.authorization.from], 0n);
    expect(await desk.settlement.settle(payment.id, { waitMs: 1500 })).toEqual({
      kind: 'pending',
      transaction: INVENTED,
    });
    expect(await desk.settlement.outcome(payment.id, WAIT)).toMatchObject({
      kind: 'failed',
      reason: 'invalid_exact_evm_payload_authorization_valid_before',
    });
  });

  test('settles once although 50 ask for it at once', async () => {
    const desk = await open();
    const payment = await served(desk);
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, () => desk.settlement.settle(payment.id, WAIT)),
    );
    expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set(['settled']));
    expect(facilitator.calls('settle')).toBe(1);
  });

  test('waits for its turn when more are asked for than may be at once', async () => {
    const desk = await open();
    const payments = await Promise.all(Array.from({ length: 12 }, () => served(desk)));
    const outcomes = await Promise.all(payments.map(({ id }) => desk.settlement.settle(id, WAIT)));
    expect(outcomes.map(({ kind }) => kind)).toEqual(payments.map(() => 'settled'));
    for (const payment of payments) expect(await transfersOf(payment)).toHaveLength(1);
  });
});

describe('a payment that cannot be settled', () => {
  test('because the payer spent the money fails by name when the facilitator refuses it', async () => {
    const desk = await open();
    const payment = await served(desk);
    await chain.fund([payment.authorization.from], 0n);
    expect(await desk.settlement.settle(payment.id, WAIT)).toMatchObject({
      kind: 'failed',
      reason: 'invalid_exact_evm_insufficient_balance',
    });
    expect(await transfersOf(payment)).toEqual([]);
  });

  test('stays pending while a silent facilitator may still have it, and fails when its window has closed', async () => {
    const desk = await open({ timeoutMs: 300 });
    facilitator.always('settle', 'hang');
    const payment = await served(desk, { validForSeconds: 5 });
    await chain.fund([payment.authorization.from], 0n);
    expect(await desk.settlement.settle(payment.id, { waitMs: 1500 })).toMatchObject({
      kind: 'pending',
    });
    expect(await desk.settlement.outcome(payment.id, WAIT)).toMatchObject({
      kind: 'failed',
      reason: 'invalid_exact_evm_payload_authorization_valid_before',
    });
    const { timestamp } = await chain.client.getBlock();
    expect(Number(timestamp)).toBeGreaterThanOrEqual(payment.authorization.validBefore);
  });
});

describe('after a restart', () => {
  test('what was settled meanwhile is found on the chain, and the facilitator is not asked', async () => {
    const desk = await open();
    facilitator.next('settle', 'cut-after');
    const payment = await served(desk);
    const settling = desk.settlement.settle(payment.id, { waitMs: 1 });
    await settling;
    await until(async () => (await transfersOf(payment)).length === 1);
    await desk.crash();
    const next = await open({ location: desk.location });
    expect(await next.settlement.outcome(payment.id, WAIT)).toMatchObject({ kind: 'settled' });
    expect(facilitator.calls('settle')).toBe(1);
  });

  test('what was served and never handed over is handed over, once', async () => {
    const desk = await open();
    const payment = await served(desk);
    await desk.crash();
    const next = await open({ location: desk.location });
    expect(await next.settlement.outcome(payment.id, WAIT)).toMatchObject({ kind: 'settled' });
    expect(facilitator.calls('settle')).toBe(1);
    expect(await transfersOf(payment)).toHaveLength(1);
  });
});

test('a facilitator that does not answer takes no new paid work until it does', async () => {
  const desk = await open({ timeoutMs: 1000 });
  const payer = await chain.newPayer({ usdc: 100n });
  const authorization = await chain.sign(payer, { value: 50n });
  facilitator.always('verify', 'hang');
  facilitator.always('supported', 'hang');
  for (let i = 0; i < 3; i += 1) {
    expect(await desk.settlement.objection(authorization)).toMatchObject({
      code: 'payments_unavailable',
    });
  }
  expect(desk.settlement.admits(authorization)).toMatchObject({ code: 'payments_unavailable' });
  expect(desk.settlement.health().ready).toBe(false);
  facilitator.always('verify', 'honest');
  facilitator.always('supported', 'honest');
  await until(() => Promise.resolve(desk.settlement.health().ready));
  expect(desk.settlement.admits(authorization)).toBeUndefined();
  await until(async () => (await desk.settlement.objection(authorization)) === undefined);
});
