import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { SETTLEMENT_DEFAULTS } from '../../../gateway/money/settlement/settings.js';
import { createLocalSigner } from '../../../gateway/money/settlement/signer.js';
import { startTestChain, type TestChain } from '../../support/chain.js';
import { deferred } from '../../support/deferred.js';
import { insist } from '../../support/insist.js';
import { BINDING, someReply } from '../../support/payments.js';
import { startPostgres, type TestPostgres } from '../../support/postgres.js';
import { type Bench, type BenchOptions, startBench } from '../../support/settlements.js';
import { until } from '../../support/until.js';

let chain: TestChain;
let server: TestPostgres;
const benches: Bench[] = [];
beforeAll(async () => {
  [chain, server] = await Promise.all([startTestChain(), startPostgres()]);
});
afterAll(async () => {
  await chain.stop();
  await server.stop();
});
afterEach(async () => {
  for (const bench of benches.splice(0)) await bench.discard();
});

const WAIT = { waitMs: 20_000 };
const KEYS = [`0x${'a1'.repeat(32)}`, `0x${'b2'.repeat(32)}`] as const;

async function open(options: BenchOptions = {}): Promise<Bench> {
  const bench = await startBench(chain, { location: server.url, ...options });
  benches.push(bench);
  return bench;
}

/** A gateway with a funded relayer key of its own. */
async function openWithKey(key: `0x${string}`): Promise<Bench> {
  const signer = createLocalSigner(key);
  await chain.client.setBalance({ address: signer.address, value: 10n ** 18n });
  return open({ signers: [signer] });
}

test('a key is taken over within 10 seconds of its holder’s death, by default', () => {
  const { leaseMs, housekeepingMs } = SETTLEMENT_DEFAULTS;
  expect(leaseMs + housekeepingMs).toBeLessThan(10_000);
});

describe('two gateways on one PostgreSQL ledger', () => {
  test('charge 1,000 copies of one authorization once, and all get one reply', async () => {
    const gateways = await Promise.all(KEYS.map((key) => openWithKey(key)));
    const payer = await chain.newPayer({ usdc: 5000n });
    const authorization = await chain.sign(payer, { value: 50n });
    let searches = 0;
    const outcomes = await Promise.all(
      Array.from({ length: 1000 }, async (_, index) => {
        const { ledger, settlement } = gateways[index % 2] ?? gateways[0] ?? (await open());
        const { kind, payment } = await insist(() =>
          ledger.reserve(authorization, BINDING, `r${index}`),
        );
        if (kind === 'exists') return settlement.outcome(payment.id, WAIT);
        searches += 1;
        await ledger.serve(payment.id, someReply());
        return settlement.settle(payment.id, WAIT);
      }),
    );
    expect(searches).toBe(1);
    expect(new Set(outcomes.map((outcome) => JSON.stringify(outcome))).size).toBe(1);
    expect(outcomes[0]).toMatchObject({ kind: 'settled' });
    expect(await chain.transfers(payer.address)).toHaveLength(1);
  });

  test('never sign with one key at the same time: the second serves, and signs after the first', async () => {
    const first = await open();
    const second = await open();
    expect(first.settlement.health()).toMatchObject({ ready: true });
    const waiting = { ready: true, lanes: [{ halted: 'leased-elsewhere' }] };
    expect(second.settlement.health()).toMatchObject(waiting);
    const pay = async () => {
      const payer = await chain.newPayer({ usdc: 100n });
      const payment = await second.served(await chain.sign(payer, { value: 50n }));
      expect(await second.settlement.settle(payment.id, WAIT)).toMatchObject({ kind: 'settled' });
      return (await second.ledger.get(payment.id))?.owner;
    };
    expect(await pay()).toBe(first.ledger.owner);
    expect(second.settlement.health()).toMatchObject(waiting);
    await first.settlement.drain({ deadlineMs: 1000 });
    await until(() => second.settlement.health().lanes[0]?.halted === undefined);
    expect(await pay()).toBe(second.ledger.owner);
  });

  test('take over from a dead one within ten seconds: its lease, and a round of housekeeping', () => {
    const { leaseMs, housekeepingMs } = SETTLEMENT_DEFAULTS;
    expect(leaseMs + housekeepingMs).toBeLessThan(10_000);
  });

  test('finish what a dead one left, with its key and its signed bytes', async () => {
    const died = deferred();
    const settings = { leaseMs: 1000 };
    const dead = await open({
      settings,
      checkpoint: (point) => {
        if (point !== 'after-sign-commit') return undefined;
        died.resolve();
        return new Promise<void>(() => undefined);
      },
    });
    const payer = await chain.newPayer({ usdc: 100n });
    const payment = await dead.served(await chain.sign(payer, { value: 50n }));
    void dead.settlement.settle(payment.id, WAIT).catch(() => undefined);
    await died.promise;
    const { transaction } = (await dead.ledger.get(payment.id)) ?? {};
    await dead.crash();

    const heir = await open({ settings });
    expect(await heir.settlement.outcome(payment.id, WAIT)).toMatchObject({
      kind: 'settled',
      transaction,
    });
    expect(await chain.transfers(payer.address)).toHaveLength(1);
  });
});
