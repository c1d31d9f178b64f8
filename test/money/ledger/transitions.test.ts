import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { address, bytes32, unixMillis } from '../../../gateway/ground/domain/units.js';
import { AuditBooks } from '../../../gateway/money/ledger/audit.js';
import { createLedger } from '../../../gateway/money/ledger/ledger.js';
import { LEDGER_MIGRATIONS } from '../../../gateway/money/ledger/migrations.js';
import type { PaymentStatus } from '../../../gateway/money/ledger/status.js';
import { TransferBooks } from '../../../gateway/money/ledger/transfers.js';
import { BINDING, someAuthorization, someReply } from '../../support/payments.js';
import { realRandom } from '../../support/ports.js';
import { temporaryStore } from '../../support/stores.js';

const RELAYER = address(`0x${'ee'.repeat(20)}`);
const STEPS = [
  'reserve',
  'serve',
  'release',
  'sign',
  'broadcast',
  'preconfirm',
  'vanish',
  'mine',
  'mine without it',
  'adopt',
  'retry',
  'fail',
  'reorg',
  'finalize',
  'reverse',
] as const;
type Step = (typeof STEPS)[number];

/** Statuses from which a step may lead elsewhere; every other change of status is a fault. */
const NEXT: Readonly<Record<PaymentStatus, readonly PaymentStatus[]>> = {
  reserved: ['served', 'released'],
  served: ['released', 'signed', 'settled', 'failed'],
  signed: ['broadcast', 'preconfirmed', 'settled', 'failed', 'served'],
  broadcast: ['preconfirmed', 'settled', 'failed', 'served'],
  preconfirmed: ['settled', 'reorged'],
  settled: ['final', 'reorged'],
  reorged: ['signed', 'broadcast', 'preconfirmed', 'settled', 'failed', 'served'],
  released: [],
  failed: ['settled'],
  final: [],
};

/** Three authorizations, any steps in any order, as clumsy callers might make them. */
async function play(steps: readonly { step: Step; which: number }[]): Promise<void> {
  const { store, discard } = await temporaryStore(LEDGER_MIGRATIONS, ':memory:');
  let now = 1_800_000_000_000;
  let nonce = 0n;
  const clock = { now: () => unixMillis((now += 1)) };
  const ledger = createLedger({ store, clock, random: realRandom, owner: 'me' });
  const books = new TransferBooks(store, clock);
  const audit = new AuditBooks(store);
  const lease = await books.leases.takeLane(8453, RELAYER, 'me');
  if (!lease) throw new Error('no lease');
  const authorizations = [0, 1, 2].map(() => someAuthorization());
  const ids = new Map<number, string>();
  const intents = new Map<number, { id: string; hash: ReturnType<typeof bytes32> }>();
  const seen = new Map<string, PaymentStatus>();
  const hashOf = (of: bigint) => bytes32(`0x${of.toString(16).padStart(64, '0')}`);

  const take = async (step: Step, which: number): Promise<unknown> => {
    const authorization = authorizations[which];
    const id = ids.get(which) ?? 'nobody';
    const intent = intents.get(which);
    const block = { number: nonce, hash: hashOf(nonce) };
    switch (step) {
      case 'reserve': {
        if (!authorization) return undefined;
        const { payment } = await ledger.reserve(authorization, BINDING, 'r');
        return ids.set(which, payment.id);
      }
      case 'serve':
        return ledger.serve(id, someReply());
      case 'release':
        return ledger.release(id, 'test');
      case 'sign': {
        const made = { id: realRandom.uuid(), hash: hashOf(nonce + 1_000_000n) };
        const common = { chainId: 8453, relayer: RELAYER, nonce, to: RELAYER, gasLimit: 1n };
        const signing = await books.signing.recordSigned(
          { ...common, id: made.id, purpose: 'transfer', data: Uint8Array.of(1) },
          {
            hash: made.hash,
            intentId: made.id,
            raw: Uint8Array.of(2),
            maxFeePerGas: 1n,
            maxPriorityFeePerGas: 1n,
          },
          [id],
          lease,
        );
        if (signing.kind !== 'recorded') return undefined;
        nonce += 1n;
        return intents.set(which, made);
      }
      case 'broadcast':
        return intent && books.signing.recordBroadcast(intent.hash);
      case 'preconfirm':
        return intent && books.outcomes.recordPreconfirmed(intent.hash, block, [id]);
      case 'vanish':
        return books.reorgs.recordVanished([id]);
      case 'mine':
      case 'mine without it': {
        if (!intent) return undefined;
        const receipt = {
          hash: intent.hash,
          block,
          succeeded: true,
          gasUsed: 1n,
          gasPrice: 1n,
          publishingFee: 0n,
        };
        return books.outcomes.recordMined(intent.id, receipt, step === 'mine' ? [id] : [], []);
      }
      case 'adopt':
        return books.outcomes.recordAdopted(id, hashOf(nonce + 2_000_000n), block);
      case 'retry':
      case 'fail': {
        const found = await ledger.get(id);
        if (!found) return undefined;
        return step === 'retry'
          ? books.outcomes.recordRetry(found)
          : books.outcomes.recordFailed(found, 'test');
      }
      case 'reorg': {
        const hash = (await ledger.get(id))?.transaction;
        return hash && books.reorgs.recordGone(hash);
      }
      case 'finalize':
        return books.outcomes.recordFinal([id]);
      case 'reverse':
        return books.failures.reverse(id, hashOf(nonce + 3_000_000n), block);
    }
  };

  try {
    for (const { step, which } of steps) {
      await take(step, which);
      const live = new Map<string, number>();
      for await (const payment of audit.payments({})) {
        const before = seen.get(payment.id);
        if (before !== undefined && before !== payment.status) {
          // I8: nothing leaves a terminal state, save what a reorganization does.
          expect({ step, before, next: NEXT[before] }).toMatchObject({
            next: expect.arrayContaining([payment.status]),
          });
        }
        seen.set(payment.id, payment.status);
        // I3: what is settled can be fetched. I2: it names the transfer that paid for it.
        if (['preconfirmed', 'settled', 'final'].includes(payment.status)) {
          expect(payment.reply).toBeDefined();
          expect(payment.transaction).toBeDefined();
          expect(payment.block).toBeDefined();
        }
        if (payment.status !== 'released') {
          const { nonce: key } = payment.authorization;
          live.set(key, (live.get(key) ?? 0) + 1);
        }
      }
      // I1: one live payment for each authorization, whatever anybody tries.
      for (const count of live.values()) expect(count).toBe(1);
    }
    // I7: the nonces of the relayer are contiguous.
    const nonces = await books.intents.noncesFrom(8453, RELAYER, 0n);
    expect([...nonces].sort((a, b) => Number(a - b))).toEqual(
      Array.from({ length: Number(nonce) }, (_, index) => BigInt(index)),
    );
  } finally {
    await discard();
  }
}

test('no sequence of steps breaks the books', async () => {
  const step = fc.record({ step: fc.constantFrom(...STEPS), which: fc.nat({ max: 2 }) });
  await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 40 }), play), { numRuns: 150 });
});
