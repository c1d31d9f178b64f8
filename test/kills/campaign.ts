import type { Serializable } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readDevFacts } from '../../gateway/dev/facts.js';
import type { CrashPoint } from '../../gateway/money/ledger/checkpoint.js';
import type { Store } from '../../gateway/ground/store/store.js';
import { type Audit, audit, countOpen, openBooks } from '../support/audit.js';
import { reachDevChain, type ReachedChain } from '../support/chain.js';
import { startFakeSearchCore } from '../support/fake-search-core.js';
import {
  type GatewayRun,
  runGateway,
  running,
  type RunningGateway,
} from '../support/gateway-process.js';
import { type Attempt, insist, newAttempt, PAYERS_PUBLIC_URL } from '../support/payer-client.js';
import { seededRandom } from '../support/rpc-proxy.js';
import { type Order, ORDER_SETTING } from './order.js';

/** One death by SIGKILL with all that followed from it. */
export interface Kill {
  readonly order: Order;
  /** Whether the first restart was killed as well, at the same point of its recovery. */
  readonly againInRecovery: boolean;
  /** Payments under way in this round: with results before the death, and fetched after it. */
  readonly deliveredBefore: number;
  readonly deliveredAfter: number;
  /** Payments whose payers never came back. */
  readonly abandoned: number;
  /** From the restart until the books had nothing open, in milliseconds. */
  readonly recoveryMs: number;
  readonly audit: Audit;
}

export interface CampaignOptions {
  readonly points: readonly CrashPoint[];
  /** Kills at each point. */
  readonly times: number;
  readonly seed: number;
  onKill?(kill: Kill): void;
}

const PAYERS_AT_ONCE = 3;
const PASSING_MAX = 3;
/** More than any point needs to be passed three times. */
const SEARCHES_EACH_MAX = 12;
const DEATH_MS_MAX = 60_000;
const RECOVERY_MS_MAX = 60_000;
/** How long a recovery is watched for the point at which it is to die. */
const RECOVERY_DEATH_MS = 1_500;

const PRELOAD = new URL('./preload.js', import.meta.url);

/**
 * Starts the gateway with its own development chain and ends it by SIGKILL, again and again: at each
 * point, at its first to third passing, with three payers paying. After each death it is started
 * again; a third of these starts are killed, too, when recovery passes the point. Half of the payers
 * without an answer come back with the same payment and must get results; the others never do. When
 * the books have nothing open, payers, books and the chain's logs are compared.
 */
export async function runKills(options: CampaignOptions): Promise<readonly Kill[]> {
  const random = seededRandom(options.seed);
  const scene = await openScene();
  const kills: Kill[] = [];
  try {
    for (const point of options.points) {
      for (let n = 0; n < options.times; n += 1) {
        const order = { point, passing: 1 + Math.floor(random() * PASSING_MAX) };
        const kill = await killOnce(scene, order, random() < 1 / 3);
        kills.push(kill);
        options.onKill?.(kill);
      }
    }
  } finally {
    await scene.close();
  }
  return kills;
}

interface Scene {
  readonly chain: ReachedChain;
  readonly books: Store;
  /** Every payment that was ever sent: what was settled has to stay so. */
  readonly attempts: Attempt[];
  readonly run: (order?: Order) => GatewayRun;
  gateway: RunningGateway;
  close(): Promise<void>;
}

/** A gateway with its own development chain, which outlives it, and one database for all kills. */
async function openScene(): Promise<Scene> {
  const dataDir = await mkdtemp(join(tmpdir(), 'search402-kills-'));
  const core = await startFakeSearchCore();
  const env = {
    DATA_DIR: dataDir,
    DEV_BLOCK_TIME_MS: '250',
    SEARCH_CORE_URL: core.url,
    PUBLIC_URL: PAYERS_PUBLIC_URL,
    LOG_LEVEL: 'warn',
  };
  const run = (order?: Order) =>
    runGateway(
      { ...env, ...(order && { [ORDER_SETTING]: JSON.stringify(order) }) },
      { preload: PRELOAD },
    );
  const gateway = await running(run());
  const dev = await readDevFacts(join(dataDir, 'dev.json'));
  if (dev?.rpcUrl === undefined) throw new Error('the gateway left no facts of its chain');
  const books = await openBooks(join(dataDir, 'search402.db'));
  const scene: Scene = {
    chain: await reachDevChain(dev.rpcUrl),
    books,
    attempts: [],
    run,
    gateway,
    close: async () => {
      await books.close();
      scene.gateway.process.kill('SIGTERM');
      await scene.gateway.exited;
      await core.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
  return scene;
}

async function killOnce(scene: Scene, order: Order, inRecoveryToo: boolean): Promise<Kill> {
  const attempts = await payUntilDeath(scene, order);
  scene.attempts.push(...attempts);
  const deliveredBefore = delivered(attempts);
  const againInRecovery = inRecoveryToo && (await dieInRecovery(scene, order.point));
  const startedMs = performance.now();
  if (scene.gateway.process.signalCode !== null) scene.gateway = await running(scene.run());
  const strays = await comeBack(scene.gateway.url, attempts);
  await settleDown(scene);
  const recoveryMs = Math.round(performance.now() - startedMs);
  const { violations, ...figures } = await audit(scene.chain, scene.books, scene.attempts);
  return {
    order,
    againInRecovery,
    deliveredBefore,
    deliveredAfter: delivered(attempts) - deliveredBefore,
    abandoned: attempts.length - delivered(attempts),
    recoveryMs,
    audit: { ...figures, violations: [...violations, ...strays] },
  };
}

const delivered = (attempts: readonly Attempt[]) =>
  attempts.filter((attempt) => attempt.delivered).length;

/** Orders the death and lets payers pay, each one search after the other, until it has come. */
async function payUntilDeath({ gateway, chain }: Scene, order: Order): Promise<Attempt[]> {
  await command(gateway, order);
  const attempts: Attempt[] = [];
  const payers = await chain.newPayers(PAYERS_AT_ONCE * SEARCHES_EACH_MAX, { usdc: 100n });
  const isAlive = () => gateway.process.signalCode === null;
  const pay = async () => {
    for (let payer = payers.pop(); payer && isAlive(); payer = payers.pop()) {
      const attempt = await newAttempt(payer, chain.payTo);
      attempts.push(attempt);
      const isAnswered = await insist(gateway.url, attempt).then(
        () => true,
        () => false,
      );
      if (!isAnswered) return;
    }
  };
  await Promise.all(Array.from({ length: PAYERS_AT_ONCE }, pay));
  const isDead = await Promise.race([
    gateway.exited.then(() => true),
    sleep(DEATH_MS_MAX, false, { ref: false }),
  ]);
  if (!isDead) throw new Error(`no death ${order.point}: ${gateway.output()}`);
  return attempts;
}

/** Hands the gateway an order, or null to live on, and waits until it has it. */
async function command({ process: child }: GatewayRun, order: Order | null): Promise<void> {
  const taken = new Promise<void>((resolve, reject) => {
    child.once('message', () => resolve());
    child.once('exit', () => reject(new Error('the gateway died of itself')));
  });
  child.send(order as Serializable);
  await taken;
}

/** Restarts it with the same order; true when recovery passed the point and it died of it. */
async function dieInRecovery(scene: Scene, point: Order['point']): Promise<boolean> {
  const run = scene.run({ point, passing: 1 });
  const isUp = await running(run).catch(() => undefined);
  const survived =
    isUp && (await Promise.race([run.exited.then(() => false), sleep(RECOVERY_DEATH_MS, true)]));
  if (!survived) {
    await run.exited;
    if (run.process.signalCode !== 'SIGKILL') throw new Error(run.output());
    return true;
  }
  await command(run, null);
  scene.gateway = isUp;
  return false;
}

/**
 * Every second payer without an answer comes back with the same payment, and those who had results
 * fetch them again. Returns what was wrong with what they got.
 */
async function comeBack(url: string, attempts: readonly Attempt[]): Promise<string[]> {
  const refused = attempts.filter((attempt) => attempt.refused !== undefined);
  const lost = attempts.filter((attempt) => !attempt.delivered && attempt.refused === undefined);
  const had = attempts.filter((attempt) => attempt.delivered);
  const fetchedAgain = had.map(async (attempt) => {
    const again: Attempt = { ...attempt };
    await insist(url, again);
    const isSame =
      again.delivered?.body === attempt.delivered?.body &&
      again.delivered?.transaction === attempt.delivered?.transaction;
    return isSame ? [] : [`authorization ${attempt.nonce} got another reply the second time`];
  });
  const returning = lost
    .filter((_, index) => index % 2 === 0)
    .map(async (attempt) => {
      await insist(url, attempt);
      return attempt.delivered
        ? []
        : [`authorization ${attempt.nonce} got ${attempt.refused}: ${attempt.detail}`];
    });
  const strays = refused.map(
    ({ nonce, detail }) => `authorization ${nonce} was refused: ${detail}`,
  );
  return [...strays, ...(await Promise.all([...fetchedAgain, ...returning])).flat()];
}

/** Waits until the books have nothing open. */
async function settleDown({ books, gateway }: Scene): Promise<void> {
  const deadline = Date.now() + RECOVERY_MS_MAX;
  while ((await countOpen(books)) > 0) {
    if (Date.now() > deadline) throw new Error(`payments stay open: ${gateway.output()}`);
    await sleep(50);
  }
}
