import { openPacks } from '../../gateway/customers/packs/packs.js';
import { sealingWith } from '../../gateway/ground/store/sealing.js';
import { openAccess } from '../../gateway/wiring/access.js';
import type { ChainAccess } from '../../gateway/wiring/chain-access.js';
import { createChainClient } from '../../gateway/money/chain/client.js';
import { createHeadFeed } from '../../gateway/money/chain/head-feed.js';
import { preflight } from '../../gateway/money/chain/preflight.js';
import type { Config } from '../../gateway/wiring/config.js';
import { openPayments } from '../../gateway/wiring/payments.js';
import { createKeyedSearch } from '../../gateway/search/keyed.js';
import { createSearch, type Search, type SearchCall } from '../../gateway/search/pipeline.js';
import type { RunSearch } from '../../gateway/search/answer.js';
import { refused, type SearchReply } from '../../gateway/search/reply.js';
import { keptOpen } from '../../gateway/search/keeping.js';
import { TAKEN_OVER } from '../../gateway/money/settlement/handover.js';
import type { Signer } from '../../gateway/money/settlement/signer.js';
import { StoreUnavailable, type Store } from '../../gateway/ground/store/store.js';
import { BLOCK_MS } from './chain/chain.js';
import { AUTHORIZER } from './channels/wallet.js';
import type { Dice } from './dice.js';
import type { SimulatedHeadFeed } from './head-feed.js';
import { createTransport, type NetworkEndpoint } from './network.js';
import { SimProcess } from './process.js';
import { PUBLIC_URL, TERMS } from './payers.js';
import type { VirtualTime } from './time.js';
import type { Trace } from './trace.js';

/** Wrong parts, to see that the checks find them. */
export interface Sabotage {
  store?(store: Store, process: SimProcess): Store;
  signer?(signer: Signer, process: SimProcess): Signer;
  /** A statement that changes the schema. */
  readonly schema?: string;
  client?(client: ChainAccess['client'], process: SimProcess): ChainAccess['client'];
}

/** Where a machine stands. */
export interface Site {
  readonly time: VirtualTime;
  readonly trace: Trace;
  readonly dice: Dice;
  readonly endpoints: readonly NetworkEndpoint[];
  /** Where blocks are announced, in worlds that have it. */
  readonly headFeed: SimulatedHeadFeed | undefined;
  readonly signers: readonly Signer[];
  readonly config: Config;
  readonly sabotage: Sabotage;
  mount(process: SimProcess, onFailed: () => void): Store;
  runSearch(process: SimProcess): RunSearch;
  /** Something happened that no gateway may do. */
  violation(what: string): void;
}

/** What somebody who asks comes to know. */
export type Heard = SearchReply | 'lost';

type Refund = NonNullable<Awaited<ReturnType<typeof openPayments>>['refund']>;

/** The process that runs on a machine, once it has started. */
interface Running {
  readonly process: SimProcess;
  readonly search: Search;
  /** In worlds with channels. */
  readonly refund?: Refund;
  stop(): Promise<void>;
}

const DRAIN_MS = 25_000;

/** A machine that keeps a gateway running: one that ends is started again. */
export class Machine {
  #process: SimProcess | undefined;
  #running: Running | undefined;
  #lives = 0;
  #skewMs = 0;
  readonly #waiting = new Set<() => void>();
  /** When processes died that had not been asked to stop. */
  readonly deaths = new Map<string, number>();

  constructor(
    readonly name: string,
    private readonly site: Site,
  ) {}

  get process(): SimProcess | undefined {
    return this.#process;
  }

  /** The process, once it has started and until it ends. */
  get running(): Running | undefined {
    return this.#running;
  }

  /** Moves the machine's wall clock. */
  stepClock(ms: number): void {
    this.#skewMs += ms;
  }

  /** Sets the wall clock right. */
  setClockRight(): void {
    this.#skewMs = 0;
  }

  /** Starts a process; when it dies or cannot start, another one follows after a while. */
  boot(): void {
    const { time, trace, dice } = this.site;
    this.#lives += 1;
    const name = `${this.name}.${this.#lives}`;
    const process = new SimProcess(
      name,
      time,
      dice.fork(name).random(),
      () => this.#skewMs,
      (level, fields, message) => {
        trace.event(level, name, message, JSON.stringify(fields, text));
        if (message === TAKEN_OVER) trace.count('payment.handed-over', name);
      },
    );
    this.#process = process;
    process.onDeath(() => {
      trace.count('process.died', name);
      if (this.#running) this.deaths.set(name, time.nowMs);
      this.#process = undefined;
      this.#running = undefined;
      for (const lose of [...this.#waiting]) lose();
      time.after(dice.between(200, 8000), () => this.boot());
    });
    trace.event('boot', name);
    start(process, this.site).then(
      (running) => {
        if (!process.isAlive) return;
        trace.count('process.started', name);
        this.#running = running;
      },
      (error: unknown) => {
        if (!process.isAlive) return;
        trace.count('process.start-failed', name, String(error));
        process.kill();
      },
    );
  }

  /** Sends SIGTERM, as a deployment does. */
  async stopGently(): Promise<void> {
    const running = this.#running;
    if (!running) return;
    this.#running = undefined;
    await running.stop();
    running.process.kill();
  }

  /** One search over the network; `lost` when the connection broke before the reply. */
  ask(call: SearchCall): Promise<Heard> {
    return this.#over(({ search }) => search(call), call.requestId);
  }

  /** Asks for what is left in a channel. */
  refund(header: string, requestId: string): Promise<Awaited<ReturnType<Refund>> | Heard> {
    return this.#over(async ({ refund }) => {
      if (!refund) throw new Error('a refund in a world without channels');
      return refund(header, requestId);
    }, requestId);
  }

  #over<Reply>(
    send: (running: Running) => Promise<Reply>,
    requestId: string,
  ): Promise<Reply | Heard> {
    const { trace } = this.site;
    const running = this.#running;
    if (!running) return Promise.resolve('lost');
    return new Promise<Reply | Heard>((resolve) => {
      const lose = () => {
        this.#waiting.delete(lose);
        trace.count('client.lost-connection', this.name);
        resolve('lost');
      };
      this.#waiting.add(lose);
      send(running).then(
        (reply) => {
          if (!this.#waiting.delete(lose)) return;
          resolve(reply);
        },
        (error: unknown) => {
          if (!this.#waiting.delete(lose)) return;
          // As the edge does it: the store's own refusal, and for everything else a 500.
          if (error instanceof StoreUnavailable) resolve(refused(requestId, error.refusal));
          else {
            this.site.violation(`an exception reached the edge: ${String(error)}`);
            resolve('lost');
          }
        },
      );
    });
  }
}

const text = (_: string, value: unknown) => (typeof value === 'bigint' ? value.toString() : value);

/** As the service wires it, without what faces HTTP. */
async function start(process: SimProcess, site: Site): Promise<Running> {
  const { clock, log, random } = process;
  const { config, sabotage } = site;
  const mounted = site.mount(process, () => process.kill());
  const store = sabotage.store?.(mounted, process) ?? mounted;
  const ports = { clock, log, random };
  const honest = createChainClient({
    urls: site.endpoints.map(({ name }) => `http://${name}/`),
    chainId: TERMS.chainId,
    ...ports,
    connect: (url) => {
      const endpoint = site.endpoints.find(({ name }) => url === `http://${name}/`);
      if (!endpoint) throw new Error(`no endpoint at ${url}`);
      return createTransport(process, endpoint, site);
    },
  });
  const client = sabotage.client?.(honest, process) ?? honest;
  await preflight((method, params) => client.request(method, params), TERMS);
  const access = await openAccess(store, ports, 1000);
  const heads =
    site.headFeed &&
    createHeadFeed({
      url: 'ws://head-feed/',
      chainId: TERMS.chainId,
      blockTimeMs: BLOCK_MS,
      ...ports,
      open: site.headFeed.socketsFor(process),
    });
  const chain: ChainAccess = {
    chainId: TERMS.chainId,
    asset: TERMS.asset,
    domain: TERMS.domain,
    payTo: TERMS.payTo,
    relayers: site.signers.map((signer) => sabotage.signer?.(signer, process) ?? signer),
    authorizers: config.CHANNELS ? [AUTHORIZER] : [],
    blockTimeMs: BLOCK_MS,
    client,
    ...(heads && { heads }),
    health: () => ({ ready: true }),
    stop: () => client.close(),
  };
  const sealing = sealingWith([new Uint8Array(32).fill(7)], random);
  const lifetimeMs = 24 * 3600 * 1000;
  const packs = openPacks({ store, keys: access.keys, sealing, lifetimeMs, ...ports });
  const payments = await openPayments(config, {
    ...{ store, chain, packs, sealing, publicUrl: PUBLIC_URL, ...ports },
    metrics: { gauge: () => undefined, gauges: () => undefined, timed: (_, work) => work },
  });
  const search = createSearch({
    run: site.runSearch(process),
    keeping: keptOpen,
    meter: () => () => undefined,
    authenticate: access.authenticate,
    admitCaller: (caller) => access.limits.admit(caller),
    admitAddress: (address, policy) => access.limits.admitAddress(address, policy),
    chainAllowance: (address) => access.unpaid.chainAllowance(address),
    readPayment: payments.readPayment,
    searchOnCredits: createKeyedSearch(access.credits, { chargesEmpty: true }),
    searchForPayment: payments.searchForPayment,
  });
  return {
    process,
    search,
    ...(payments.refund && { refund: payments.refund }),
    stop: async () => {
      await payments.stop(DRAIN_MS);
      await access.stop();
      await heads?.close();
      await store.close();
    },
  };
}
