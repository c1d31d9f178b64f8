import { concat, keccak256, numberToHex, parseEther, stringToHex } from 'viem';
import { BalanceBurner } from '../../contracts-abi/artifacts/BalanceBurner.js';
import { address, type Address, type Hex } from '../../gateway/ground/domain/units.js';
import { payerOf } from '../support/chain.js';
import { joinService, type Crowd, type PaidReply } from '../support/griefers.js';
import { realClock } from '../support/ports.js';
import { startTestService } from '../support/service.js';
import type { AttackRow } from './row.js';

export interface GriefingOptions {
  readonly seconds: number;
  /** Seconds of the same honest payments before, without an attack. */
  readonly calmSeconds: number;
  readonly blockTimeMs: number;
  /** Griefing requests a second, and honest payments beside them. */
  readonly griefingPerSecond: number;
  readonly honestPerSecond: number;
  /** Every request by another wallet with another code, or all by one wallet. */
  readonly wallets: 'one' | 'fresh';
}

/** What became of the honest, and what the attack cost. */
export interface Griefing {
  readonly row: AttackRow;
  readonly honest: { readonly sent: number; readonly paid: number };
  readonly medianMs: number;
  readonly calmMedianMs: number;
  readonly gasBurned: bigint;
}

const BASE_LIKE: GriefingOptions = {
  seconds: 40,
  calmSeconds: 20,
  blockTimeMs: 2000,
  griefingPerSecond: 10,
  honestPerSecond: 3,
  wallets: 'fresh',
};

/** The account whose ether the wallets look at. */
const SWITCH = address(`0x${keccak256(stringToHex('switch')).slice(-40)}`);
/** What making a contract costs its maker: yellow paper, G_transaction, G_create, G_codedeposit. */
const DEPLOYMENT_GAS = 21_000 + 32_000 + 200 * ((BalanceBurner.runtimeCode.length - 2) / 2 + 32);
const SEND_GAS = 21_000;
/** How long before a block the switch is thrown. */
const BEFORE_BLOCK_MS = 400;

/**
 * Payments by wallets that pass every simulation and burn all gas in a block: they look at an
 * account's balance, which the attacker changes shortly before each block. Beside them honest payers.
 */
export async function gasGriefing(options: Partial<GriefingOptions> = {}): Promise<Griefing> {
  const plan = { ...BASE_LIKE, ...options };
  const service = await startTestService({ env: { DEV_BLOCK_TIME_MS: String(plan.blockTimeMs) } });
  try {
    const crowd = await joinService(service);
    const calm = await payHonestly(crowd, plan.calmSeconds, plan.honestPerSecond);
    const fromBlock = await crowd.chain.client.getBlockNumber({ cacheTime: 0 });
    const flips = throwSwitch(crowd, plan.blockTimeMs);
    const [honest, attacks] = await Promise.all([
      payHonestly(crowd, plan.seconds, plan.honestPerSecond),
      grief(crowd, plan),
    ]);
    const switched = await flips.stop();
    const relayed = await crowd.relayed(fromBlock + 1n);
    const lost = relayed.filter(({ transfers }) => transfers === 0);
    const gasBurned = lost.reduce((sum, { gasUsed }) => sum + gasUsed, 0n);
    return report(plan, { calm, honest, attacks, switched, griefed: lost.length, gasBurned });
  } finally {
    await service.stop();
  }
}

function report(
  plan: GriefingOptions,
  seen: {
    readonly calm: readonly PaidReply[];
    readonly honest: readonly PaidReply[];
    readonly attacks: readonly PaidReply[];
    readonly switched: number;
    readonly griefed: number;
    readonly gasBurned: bigint;
  },
): Griefing {
  const { honest, attacks, griefed, gasBurned } = seen;
  const paid = honest.filter(({ status }) => status === 200);
  const [medianMs, calmMedianMs] = [median(paid), median(seen.calm)];
  const made = plan.wallets === 'fresh' ? attacks.length : 1;
  const attackerGas = made * DEPLOYMENT_GAS + seen.switched * SEND_GAS;
  const each = griefed > 0 ? Math.round(Number(gasBurned) / griefed) : 0;
  const row: AttackRow = {
    attack: `wallets that pass simulations and burn gas (${plan.wallets})`,
    tries: attacks.length,
    gotThrough: griefed,
    costToAttacker: `${attackerGas} gas: ${made} contracts and ${seen.switched} transfers`,
    costToUs: `${gasBurned} gas, ${each} for each`,
    note:
      `${paid.length} of ${honest.length} honest payments settled, median ${medianMs} ms ` +
      `(${calmMedianMs} ms without); answers to the attack: ${tally(attacks)}`,
  };
  const counts = { sent: honest.length, paid: paid.length };
  return { row, honest: counts, medianMs, calmMedianMs, gasBurned };
}

const tally = (replies: readonly PaidReply[]): string => {
  const counts = new Map<string, number>();
  for (const { status, code } of replies) {
    const what = status === 200 ? 'paid' : code;
    counts.set(what, (counts.get(what) ?? 0) + 1);
  }
  return [...counts].map(([what, count]) => `${count} ${what}`).join(', ');
};

const median = (replies: readonly PaidReply[]): number => {
  const sorted = replies.map(({ ms }) => ms).sort((a, b) => a - b);
  return Math.round(sorted[Math.floor(sorted.length / 2)] ?? 0);
};

/** Sends at a steady rate, whether or not the ones before are answered. */
async function steadily(
  seconds: number,
  perSecond: number,
  send: (index: number) => Promise<PaidReply>,
): Promise<PaidReply[]> {
  const sent: Promise<PaidReply>[] = [];
  const startedMs = realClock.monotonicMs();
  for (let index = 0; index < seconds * perSecond; index += 1) {
    const dueMs = startedMs + (index * 1000) / perSecond;
    await realClock.sleep(Math.max(0, dueMs - realClock.monotonicMs()));
    sent.push(send(index));
  }
  return Promise.all(sent);
}

async function payHonestly(crowd: Crowd, seconds: number, perSecond: number) {
  const payers = await crowd.newPayers(Math.ceil(seconds * perSecond));
  return steadily(seconds, perSecond, async (index) => {
    const payer = payers[index];
    if (!payer) throw new Error('too few payers');
    return crowd.pay(payer);
  });
}

/** The same wallet's code with some bytes behind it that are never run: other code, by its hash. */
const varied = (index: number): { runtimeCode: Hex } => ({
  runtimeCode: concat([BalanceBurner.runtimeCode, numberToHex(index + 1, { size: 32 })]),
});

async function grief(crowd: Crowd, plan: GriefingOptions): Promise<PaidReply[]> {
  const { seconds, griefingPerSecond, wallets } = plan;
  const owner = payerOf(`0x${'0e'.repeat(32)}`);
  const made = wallets === 'one' ? 1 : Math.ceil(seconds * griefingPerSecond);
  const addresses: Address[] = [];
  for (let index = 0; index < made; index += 1)
    addresses.push(await crowd.newWallet(varied(index)));
  return steadily(seconds, griefingPerSecond, (index) => {
    const wallet = addresses[index % addresses.length];
    if (!wallet) throw new Error('no wallet');
    return crowd.payAs(wallet, owner);
  });
}

/** Gives the account its ether shortly before each block and takes it away after. */
function throwSwitch({ chain }: Crowd, blockTimeMs: number) {
  const leaving = new AbortController();
  let flips = 0;
  const flip = async () => {
    let last = await chain.client.getBlockNumber({ cacheTime: 0 });
    while (!leaving.signal.aborted) {
      await realClock.sleep(20);
      const newest = await chain.client.getBlockNumber({ cacheTime: 0 });
      if (newest === last) continue;
      last = newest;
      await chain.client.setBalance({ address: SWITCH, value: 0n });
      await realClock.sleep(Math.max(blockTimeMs - BEFORE_BLOCK_MS, blockTimeMs / 3));
      await chain.client.setBalance({ address: SWITCH, value: parseEther('1') });
      flips += 2;
    }
  };
  const flipping = flip();
  return {
    stop: async (): Promise<number> => {
      leaving.abort();
      await flipping;
      return flips;
    },
  };
}
