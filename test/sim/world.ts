import type { Kysely } from 'kysely';
import { createAccount } from '../../gateway/customers/accounts/accounts.js';
import type { AccountTables } from '../../gateway/customers/credits/schema.js';
import { openKeys } from '../../gateway/customers/keys/keys.js';
import { fetchAgain, reconcileBooks } from './aftermath.js';
import { BLOCK_MS } from './chain/chain.js';
import { checkBooks } from './checks.js';
import { checkChannels } from './channels/checks.js';
import { liveWithChannels } from './channels/world.js';
import { createWorld, UNSAFE_MAX, type WorldParts } from './creation.js';
import { Disk } from './disk.js';
import type { Sabotage } from './machine.js';
import { SimProcess } from './process.js';
import { openPayers, type SignedPayment } from './payers.js';
import { brew, clearUp } from './storm.js';
import type { Counts } from './trace.js';

export interface WorldOptions {
  readonly seed: number;
  /** Told of every event, for a person. */
  readonly show?: (line: string) => void;
  readonly sabotage?: Sabotage;
  /** Whether payers have channels in this world, too. */
  readonly hasChannels?: boolean;
}

/** What became of one world. */
export interface WorldResult {
  readonly seed: number;
  readonly violations: readonly string[];
  /** Hash of every event with its time: the same for the same seed. */
  readonly digest: string;
  readonly counts: Counts;
  /** Seconds of the world's own time. */
  readonly seconds: number;
}

/** How long a world may take to come to rest once every fault has ended. */
const REST_MS_MAX = 1_800_000;
const CREDITS = 4;

const disks = new Map<string | undefined, Promise<Disk>>();

/**
 * Makes a world from a seed, lets it run to its end, and checks what must always hold. Worlds of one
 * schema share a disk: one at a time.
 */
export async function runWorld({
  seed,
  show,
  sabotage = {},
  hasChannels = false,
}: WorldOptions): Promise<WorldResult> {
  const { schema } = sabotage;
  const disk = disks.get(schema) ?? Disk.make(schema);
  disks.set(schema, disk);
  const beginning = {
    seed,
    disk: await disk,
    payers: await openPayers(),
    sabotage,
    show,
    hasChannels,
  };
  const violations: string[] = [];
  return new Life(seed, createWorld(beginning, violations), violations).run();
}

/** What happens in one world, from its beginning to its end. */
class Life {
  readonly #queries = new Map<SignedPayment, string>();

  constructor(
    private readonly seed: number,
    private readonly parts: WorldParts,
    private readonly violations: readonly string[],
  ) {}

  async run(): Promise<WorldResult> {
    const unhandled = (error: unknown) =>
      this.parts.violation(`an unhandled rejection: ${String(error)}`);
    process.on('unhandledRejection', unhandled);
    // A stack for every aborted wait costs more than the wait.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    try {
      await this.#live();
    } finally {
      Error.stackTraceLimit = stackTraceLimit;
      process.off('unhandledRejection', unhandled);
    }
    return {
      seed: this.seed,
      violations: this.violations,
      digest: this.parts.trace.digest(),
      counts: this.parts.trace.counts,
      seconds: this.parts.time.nowMs / 1000,
    };
  }

  async #live(): Promise<void> {
    const time = this.parts.time;
    await this.#openAccount();
    this.#makeBlocks();
    for (const machine of this.parts.machines) machine.boot();
    this.#sendCustomers();
    const { channels } = this.parts;
    if (channels) liveWithChannels({ ...this.parts, channels });
    brew({ ...this.parts, dice: this.parts.dice.fork('storm') }, this.parts.stormMs);
    await time.run(() => false, this.parts.stormMs);
    clearUp(this.parts);
    const isAtRest = this.#atRest();
    if (!(await time.run(isAtRest, this.parts.stormMs + REST_MS_MAX)))
      this.parts.violation(`I6: not at rest ${REST_MS_MAX / 1000} s after the last fault`);
    await this.#during(() => fetchAgain(this.parts, this.#queries));
    const store = this.parts.disk.mount(this.#steward(), () => undefined);
    await this.#during(() => reconcileBooks(store, this.parts));
    await this.#stop();
    checkBooks({ ...this.parts, granted: CREDITS });
    if (channels)
      await checkChannels({ ...this.parts, customers: channels, unsafeMax: UNSAFE_MAX });
  }

  /** Runs the world until this work is done. */
  async #during(work: () => Promise<void>): Promise<void> {
    let isDone = false;
    const working = work().finally(() => {
      isDone = true;
    });
    if (await this.parts.time.run(() => isDone, this.parts.time.nowMs + 120_000)) await working;
    else this.parts.violation('the world stood still during its last checks');
  }

  #makeBlocks(): void {
    this.parts.time.after(BLOCK_MS, () => {
      this.parts.chain.makeBlock();
      this.parts.headFeed?.announce();
      this.#makeBlocks();
    });
  }

  async #openAccount(): Promise<void> {
    const steward = this.#steward();
    const store = this.parts.disk.mount(steward, () => undefined);
    const account = {
      id: 'account',
      name: 'Account',
      plan: 'pro',
      credits: CREDITS,
      cause: 'operator',
    } as const;
    await this.#during(async () => {
      const now = steward.clock.now();
      await store.write((tx: Kysely<AccountTables>) => createAccount(tx, account, now));
      const { key } = await openKeys(store, steward.clock, steward.random).create(
        account.id,
        null,
        { name: 'key' },
      );
      const searches = this.parts.dice.between(0, CREDITS + 2);
      for (let count = 0; count < searches; count += 1) {
        const atMs = this.parts.dice.between(1000, this.parts.stormMs);
        this.parts.customers.search(key, `keyed ${count}`, atMs);
      }
    });
  }

  /** A process of the operator's own. */
  #steward(): SimProcess {
    const random = this.parts.dice.fork('steward').random();
    return new SimProcess(
      'steward',
      this.parts.time,
      random,
      () => 0,
      () => undefined,
    );
  }

  #sendCustomers(): void {
    const dice = this.parts.dice.fork('plans');
    const lastMs = Math.floor(this.parts.stormMs * 0.8);
    // In some worlds everybody comes at once, so that payments share a transaction.
    const rushMs = dice.chance(0.4) ? dice.between(300, lastMs) : undefined;
    for (const payment of this.parts.payments) {
      const query = `pages about ${payment.name}`;
      this.#queries.set(payment, query);
      const atMs = rushMs === undefined ? dice.between(100, lastMs) : rushMs + dice.between(0, 200);
      const copies = dice.chance(0.3) ? dice.between(2, 4) : 1;
      if (copies > 1) this.parts.trace.count('client.copies', payment.name);
      for (let copy = 0; copy < copies; copy += 1) {
        this.parts.customers.pay(payment, query, atMs + dice.pick([0, 0, 1, 50, 2000, 9000]));
      }
      if (!dice.chance(0.1)) continue;
      this.parts.trace.count('client.other-query', payment.name);
      this.parts.customers.pay(payment, 'another thing', atMs + dice.between(0, 3000));
    }
  }

  /** Whether nobody waits and nothing is open any more; looks once in two seconds. */
  #atRest(): () => boolean {
    let [lookedMs, isAtRest] = [-Infinity, false];
    // What was settled is followed to its finality where blocks were replaced, and in some others.
    const isLong = this.parts.trace.counts.has('chain.reorg') || this.parts.dice.chance(0.2);
    const open = isLong ? [OPEN_PAYMENTS, OPEN_FAILURES] : [OPEN_SETTLEMENTS];
    return () => {
      if (this.parts.time.nowMs - lookedMs < BLOCK_MS) return isAtRest;
      lookedMs = this.parts.time.nowMs;
      isAtRest =
        this.parts.customers.busy === 0 &&
        (this.parts.channels?.busy ?? 0) === 0 &&
        this.parts.machines.every(({ running }) => running !== undefined) &&
        open.every((query) => isEmpty(this.parts.disk.query(query))) &&
        isEmpty(this.parts.disk.query('select 1 from intents where mined_at is null limit 1')) &&
        isEmpty(this.parts.disk.query('select 1 from credit_balances where held > 0 limit 1'));
      return isAtRest;
    };
  }

  /** Ends every process as a deployment does: nothing of it may be left. */
  async #stop(): Promise<void> {
    const processes = this.parts.machines.flatMap(({ process: one }) => one ?? []);
    await this.#during(async () => {
      for (const machine of this.parts.machines) await machine.running?.stop();
    });
    // Calls that nobody waits for any more end by their own deadlines.
    await this.parts.time.run(() => false, this.parts.time.nowMs + 10_000);
    for (const one of processes) {
      if (one.timers > 0) this.parts.violation(`I9: ${one.name} left ${one.timers} timers behind`);
      one.kill();
    }
  }
}

const OPEN_PAYMENTS = `select 1 from payments
  where released_at is null and failed_at is null and final_at is null limit 1`;

const OPEN_SETTLEMENTS = `select 1 from payments
  where released_at is null and failed_at is null and settled_at is null limit 1`;

const OPEN_FAILURES = `select 1 from payments
  where failed_at is not null and final_at is null limit 1`;

const isEmpty = (rows: readonly unknown[]) => rows.length === 0;
