import type { Kysely } from 'kysely';
import { createAccount } from '../../gateway/accounts/accounts.js';
import type { AccountTables } from '../../gateway/accounts/schema.js';
import { readConfig, type Config } from '../../gateway/config.js';
import { openKeys } from '../../gateway/keys/keys.js';
import { AuditBooks } from '../../gateway/ledger/audit.js';
import { reconcile } from '../../gateway/settlement/reconcile.js';
import { createRpcChain } from '../../gateway/settlement/rpc-chain.js';
import { Chain, CHAIN_ID, type Mined } from './chain/chain.js';
import { TOKEN, TRANSFER } from './chain/contracts.js';
import { createNode } from './chain/node.js';
import { checkBooks, checkDelivery } from './checks.js';
import { Customers } from './customers.js';
import { Dice } from './dice.js';
import { Disk } from './disk.js';
import { Engine } from './engine.js';
import { createLiar } from './liar.js';
import { Machine, type Sabotage } from './machine.js';
import { CALM, type NetworkEndpoint } from './network.js';
import { SimProcess } from './process.js';
import { openPurses, TERMS, type Note } from './purses.js';
import { createSimSigner } from './relayers.js';
import { brew, clearUp, ETHER, type StormParts } from './storm.js';
import { VirtualTime } from './time.js';
import { Trace, type Counts } from './trace.js';

export interface WorldOptions {
  readonly seed: number;
  /** Told of every event, for a person. */
  readonly show?: (line: string) => void;
  readonly sabotage?: Sabotage;
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
const BLOCK_MS = 2000;
const CREDITS = 4;

const BASE_CONFIG: Config = readConfig(
  {
    RPC_URLS: 'http://127.0.0.1:1/',
    PAY_TO: TERMS.payTo,
    RELAYER_PRIVATE_KEY: `0x${'11'.repeat(32)}`,
    LOG_LEVEL: 'silent',
  },
  [],
);

let disk: Promise<Disk> | undefined;

/** Makes a world from a seed, lets it run to its end, and checks what must always hold. */
export async function runWorld({ seed, show, sabotage = {} }: WorldOptions): Promise<WorldResult> {
  disk ??= Disk.make();
  const world = new World(seed, await disk, await openPurses().then(allNotes), sabotage, show);
  return world.run();
}

const allNotes = (purses: Awaited<ReturnType<typeof openPurses>>) => purses.map((one) => one.notes);

class World {
  readonly #time = new VirtualTime();
  readonly #trace: Trace;
  readonly #dice: Dice;
  readonly #violations: string[] = [];
  readonly #chain: Chain;
  readonly #machines: readonly Machine[];
  readonly #customers: Customers;
  readonly #notes: readonly Note[];
  readonly #queries = new Map<Note, string>();
  readonly #storm: StormParts;
  readonly #stormMs: number;

  constructor(
    private readonly seed: number,
    private readonly disk: Disk,
    purses: readonly (readonly Note[])[],
    sabotage: Sabotage,
    show: ((line: string) => void) | undefined,
  ) {
    disk.wipe();
    const time = this.#time;
    const trace = (this.#trace = new Trace(() => time.nowMs, show));
    const dice = (this.#dice = new Dice(`world ${seed}`));
    const violation = (what: string) => {
      this.#violations.push(what);
      trace.event('VIOLATION', what);
    };
    this.#stormMs = dice.between(8000, 36_000);
    const chosen = purses.flatMap((notes) => (dice.chance(0.4) ? notes : []));
    const notes = (this.#notes = (chosen.length > 0 ? chosen : purses.flat())
      .map((note) => ({ note, order: dice.unit() }))
      .sort((a, b) => a.order - b.order)
      .slice(0, dice.between(1, 6))
      .map(({ note }) => note));
    const signers = [0, 1].slice(0, dice.chance(0.3) ? 2 : 1).map(createSimSigner);
    const chain = (this.#chain = new Chain(
      {
        ether: new Map(signers.map(({ address }) => [address, ETHER])),
        nonces: new Map(signers.map(({ address }) => [address, BigInt(dice.between(0, 3))])),
        balances: new Map(
          notes.map(({ authorization: { from } }) => [from, BigInt(dice.between(40, 500))]),
        ),
        authorizations: new Map(),
        blacklisted: new Set(),
        isPaused: false,
      },
      dice.fork('chain'),
      trace,
      () => time.nowMs,
    ));
    const endpoints = Array.from({ length: dice.pick([1, 1, 2, 3]) }, (_, index) =>
      makeEndpoint(index, chain, signers, dice.fork(`endpoint ${index}`), trace),
    );
    const mayForge = () => endpoints.length > 1 && endpoints[0]?.weather === CALM;
    for (const endpoint of endpoints) {
      const lies = { dice: dice.fork(`lies of ${endpoint.name}`), trace };
      endpoint.liar = createLiar(chain, mayForge, lies);
    }
    const engine = new Engine(time, dice.fork('engine'), trace);
    const config: Config = {
      ...BASE_CONFIG,
      CONFIRMATIONS: dice.pick([1, 1, 1, 2, 3]),
      SETTLEMENT_WAIT_MS: dice.pick([2000, 20_000]),
    };
    const site = {
      time,
      trace,
      dice: dice.fork('machines'),
      endpoints,
      signers,
      config,
      sabotage,
      mount: (process: SimProcess, onFailed: () => void) => disk.mount(process, onFailed),
      runSearch: (process: SimProcess) => engine.runFor(process),
      violation,
    };
    const names = dice.chance(0.2) ? ['east', 'west'] : ['gateway'];
    disk.isShared = names.length > 1;
    const machines = (this.#machines = names.map((name) => new Machine(name, site)));
    const customers = (this.#customers = new Customers({
      time,
      dice: dice.fork('customers'),
      trace,
      machines,
      onDelivery: (delivery) => {
        const wrong = checkDelivery(chain, delivery);
        if (wrong !== undefined) violation(wrong);
      },
      violation,
    }));
    this.#storm = {
      time,
      dice: dice.fork('storm'),
      trace,
      chain,
      endpoints,
      machines,
      disk,
      engine,
      customers,
      notes,
      signers,
    };
  }

  async run(): Promise<WorldResult> {
    const unhandled = (error: unknown) => this.#violate(`an unhandled rejection: ${String(error)}`);
    process.on('unhandledRejection', unhandled);
    try {
      await this.#live();
    } finally {
      process.off('unhandledRejection', unhandled);
    }
    return {
      seed: this.seed,
      violations: this.#violations,
      digest: this.#trace.digest(),
      counts: this.#trace.counts,
      seconds: this.#time.nowMs / 1000,
    };
  }

  #violate(what: string): void {
    this.#violations.push(what);
    this.#trace.event('VIOLATION', what);
  }

  async #live(): Promise<void> {
    const time = this.#time;
    await this.#openAccount();
    this.#makeBlocks();
    for (const machine of this.#machines) machine.boot();
    this.#sendCustomers();
    brew(this.#storm, this.#stormMs);
    await time.run(() => false, this.#stormMs);
    clearUp(this.#storm);
    const isAtRest = this.#atRest();
    if (!(await time.run(isAtRest, this.#stormMs + REST_MS_MAX)))
      this.#violate(`I6: not at rest ${REST_MS_MAX / 1000} s after the last fault`);
    await this.#during(() => this.#fetchAgain());
    await this.#during(() => this.#reconcile());
    await this.#stop();
    checkBooks({ ...this.#storm, granted: CREDITS, violation: (what) => this.#violate(what) });
  }

  /** Runs the world until this work is done. */
  async #during(work: () => Promise<void>): Promise<void> {
    let isDone = false;
    const working = work().finally(() => {
      isDone = true;
    });
    if (await this.#time.run(() => isDone, this.#time.nowMs + 120_000)) await working;
    else this.#violate('the world stood still during its last checks');
  }

  #makeBlocks(): void {
    this.#time.after(BLOCK_MS, () => {
      this.#chain.makeBlock();
      this.#makeBlocks();
    });
  }

  async #openAccount(): Promise<void> {
    const steward = this.#steward();
    const store = this.disk.mount(steward, () => undefined);
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
      const searches = this.#dice.between(0, CREDITS + 2);
      for (let count = 0; count < searches; count += 1) {
        const atMs = this.#dice.between(1000, this.#stormMs);
        this.#customers.search(key, `keyed ${count}`, atMs);
      }
    });
  }

  /** A process of the operator's own. */
  #steward(): SimProcess {
    const random = this.#dice.fork('steward').random();
    return new SimProcess(
      'steward',
      this.#time,
      random,
      () => 0,
      () => undefined,
    );
  }

  #sendCustomers(): void {
    const dice = this.#dice.fork('plans');
    const lastMs = Math.floor(this.#stormMs * 0.8);
    // In some worlds everybody comes at once, so that payments share a transaction.
    const rushMs = dice.chance(0.4) ? dice.between(300, lastMs) : undefined;
    for (const note of this.#notes) {
      const query = `pages about ${note.name}`;
      this.#queries.set(note, query);
      const atMs = rushMs === undefined ? dice.between(100, lastMs) : rushMs + dice.between(0, 200);
      const copies = dice.chance(0.3) ? dice.between(2, 4) : 1;
      if (copies > 1) this.#trace.count('client.copies', note.name);
      for (let copy = 0; copy < copies; copy += 1) {
        this.#customers.pay(note, query, atMs + dice.pick([0, 0, 1, 50, 2000, 9000]));
      }
      if (!dice.chance(0.1)) continue;
      this.#trace.count('client.other-query', note.name);
      this.#customers.pay(note, 'another thing', atMs + dice.between(0, 3000));
    }
  }

  /** Whether nobody waits and nothing is open any more; looks once in two seconds. */
  #atRest(): () => boolean {
    let [lookedMs, isAtRest] = [-Infinity, false];
    // What was settled is followed to its finality where blocks were replaced, and in some others.
    const isLong = this.#trace.counts.has('chain.reorg') || this.#dice.chance(0.2);
    const open = isLong ? [OPEN_PAYMENTS, OPEN_FAILURES] : [OPEN_SETTLEMENTS];
    return () => {
      if (this.#time.nowMs - lookedMs < BLOCK_MS) return isAtRest;
      lookedMs = this.#time.nowMs;
      isAtRest =
        this.#customers.busy === 0 &&
        this.#machines.every(({ running }) => running !== undefined) &&
        open.every((query) => isEmpty(this.disk.query(query))) &&
        isEmpty(this.disk.query('select 1 from intents where mined_at is null limit 1')) &&
        isEmpty(this.disk.query('select 1 from credit_balances where held > 0 limit 1'));
      return isAtRest;
    };
  }

  /** I3: whatever was settled can be fetched again, byte for byte. */
  async #fetchAgain(): Promise<void> {
    const settled = this.disk.query(
      `select nonce, payer, binding from payments
        where released_at is null and failed_at is null and settled_at is not null`,
    );
    for (const note of this.#notes) {
      const { nonce, from } = note.authorization;
      if (!settled.some((row) => row['nonce'] === nonce && row['payer'] === from)) continue;
      const query = this.#queries.get(note) ?? '';
      const first = await this.#customers.present(note, query);
      const isOther =
        first !== 'lost' &&
        first.kind === 'refused' &&
        first.refusal.code === 'authorization_bound_to_other_request';
      const heard = isOther ? await this.#customers.present(note, 'another thing') : first;
      if (heard === 'lost' || heard.kind !== 'results')
        this.#violate(
          `I3: ${note.name} settled, but fetching it again gives ${
            heard === 'lost' ? 'nothing' : heard.refusal.code
          }`,
        );
    }
  }

  /** I4: the settled values are the transfers that the books know; all others are strangers'. */
  async #reconcile(): Promise<void> {
    const store = this.disk.mount(this.#steward(), () => undefined);
    const node = createNode(this.#chain, [], () => 0);
    const chain = createRpcChain(CHAIN_ID, {
      request: (method, params) => Promise.resolve(node(method, params)),
    });
    const payments = new AuditBooks(store).payments({ statuses: ['settled', 'final'] });
    const books = { asset: TOKEN, payees: [TERMS.payTo], payments };
    const fromBlock = BigInt(this.#chain.blocks[0]?.number ?? 0);
    const { settled, matched, missing, others } = await reconcile(chain, books, { fromBlock });
    if (missing.length > 0) this.#violate(`I4: ${missing.length} settled transfers are missing`);
    if (settled.units !== matched.units)
      this.#violate(`I4: ${settled.units} settled, but ${matched.units} moved`);
    const ours = new Set(this.#chain.blocks.flatMap(({ mined }) => mined.flatMap(ourTransfer)));
    for (const { transaction } of others) {
      if (ours.has(transaction)) this.#violate(`I4: ${transaction} is ours and in no book`);
    }
  }

  /** Ends every process as a deployment does: nothing of it may be left. */
  async #stop(): Promise<void> {
    const processes = this.#machines.flatMap(({ process: one }) => one ?? []);
    await this.#during(async () => {
      for (const machine of this.#machines) await machine.running?.stop();
    });
    // Calls that nobody waits for any more end by their own deadlines.
    await this.#time.run(() => false, this.#time.nowMs + 10_000);
    for (const one of processes) {
      if (one.timers > 0) this.#violate(`I9: ${one.name} left ${one.timers} timers behind`);
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

function ourTransfer({ transaction, logs }: Mined): string[] {
  const isOurs = transaction.kind === 'signed' && logs.some(({ topics }) => topics[0] === TRANSFER);
  return isOurs ? [transaction.hash] : [];
}

function makeEndpoint(
  index: number,
  chain: Chain,
  signers: Parameters<typeof createNode>[1],
  dice: Dice,
  trace: Trace,
): NetworkEndpoint & { lag: number; liar: NetworkEndpoint['liar'] } {
  const endpoint = {
    name: `node-${index}`,
    weather: CALM,
    isDown: false,
    lag: 0,
    liar: (): unknown => undefined,
    answer: createNode(chain, signers, () => {
      if (endpoint.lag === 0) return 0;
      const lag = dice.between(0, endpoint.lag);
      if (lag > 0) trace.count('rpc.lag');
      return lag;
    }),
  };
  return endpoint;
}
