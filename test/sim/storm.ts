import type { Chain } from './chain/chain.js';
import { BASE_FEE, BLOCK_MS } from './chain/chain.js';
import { cancel, transfer } from './chain/token.js';
import type { CallResult } from './chain/state.js';
import { foreign, type ForeignTransaction } from './chain/transactions.js';
import type { CommitFate, Disk } from './disk.js';
import type { Customers } from './customers.js';
import type { Dice } from './dice.js';
import type { Engine } from './engine.js';
import { QUIET, type SimulatedHeadFeed } from './head-feed.js';
import type { Machine } from './machine.js';
import { CALM, type NetworkEndpoint, type NetworkWeather } from './network.js';
import type { SignedPayment } from './payers.js';
import type { SimSigner } from './relayers.js';
import type { VirtualTime } from './time.js';
import type { Trace } from './trace.js';

export interface StormParts {
  readonly time: VirtualTime;
  readonly dice: Dice;
  readonly trace: Trace;
  readonly chain: Chain;
  /** The first one stays honest and well where there are several and one of them may forge. */
  readonly endpoints: readonly (NetworkEndpoint & { lag: number })[];
  readonly headFeed: SimulatedHeadFeed | undefined;
  readonly machines: readonly Machine[];
  readonly disk: Disk;
  readonly engine: Engine;
  readonly customers: Customers;
  /** What is paid with in this world. */
  readonly payments: readonly SignedPayment[];
  readonly signers: readonly SimSigner[];
}

/** Wei with which a relayer starts and is helped out. */
export const ETHER = 10n ** 18n;

const done: CallResult = { ok: true, data: '0x', logs: [] };

/**
 * Brings faults over a world until `endMs`. Each world has some kinds of fault and not others, so
 * that rare combinations are not drowned by common ones ("swarm testing", Groce et al., 2012).
 */
export function brew(parts: StormParts, endMs: number): void {
  const { dice } = parts;
  // One world in twenty is calm: what happens then has to happen without any help.
  if (dice.chance(0.05)) return;
  const storm = new Storm(parts, endMs);
  storm.network();
  storm.announcements();
  storm.chain();
  storm.payers();
  storm.machines();
}

/** Ends every fault, and repairs what would not repair itself. */
export function clearUp(parts: StormParts): void {
  const { chain, endpoints, headFeed, machines, disk, engine, customers, signers, time, trace } =
    parts;
  trace.event('calm');
  for (const endpoint of endpoints) {
    endpoint.weather = CALM;
    endpoint.isDown = false;
    endpoint.lag = 0;
  }
  if (headFeed) headFeed.weather = QUIET;
  Object.assign(chain.mempool, { delay: 0, drop: 0, baseFee: BASE_FEE });
  chain.isHalted = false;
  chain.flashblocks.vanish = 0;
  Object.assign(engine.weather, { fail: 0, timeOut: 0 });
  customers.leaveChance = 0;
  disk.fateOf = () => 'kept';
  for (const machine of machines) machine.setClockRight();
  const repair = (when: string) =>
    foreign(
      'repair',
      (state) => {
        state.isPaused = false;
        for (const { address } of signers) state.ether.set(address, ETHER);
        return done;
      },
      when,
    );
  chain.act(repair('at the end'));
  // What the storm still had on its way may come behind it in the same block.
  time.after(2 * BLOCK_MS, () => chain.act(repair('after all')));
}

class Storm {
  #acts = 0;

  constructor(
    private readonly parts: StormParts,
    private readonly endMs: number,
  ) {}

  /** Whether this world has this kind of fault. */
  #has(probability = 0.3): boolean {
    return this.parts.dice.chance(probability);
  }

  /** At some moments of the storm, one at least. */
  #sometimes(timesMax: number, strike: () => void): void {
    const { dice, time } = this.parts;
    const times = dice.between(1, timesMax);
    for (let count = 0; count < times; count += 1) {
      time.after(dice.between(500, this.endMs - 1), strike);
    }
  }

  #act(what: string, act: ForeignTransaction['act']): void {
    this.#acts += 1;
    this.parts.chain.act(foreign(what, act, String(this.#acts)));
  }

  #count(what: string, ...about: string[]): void {
    this.parts.trace.count(what, ...about);
  }

  network(): void {
    const { dice, endpoints, time } = this.parts;
    const mayForge = endpoints.length > 1 && this.#has(0.4);
    const ofSome = (most: number) => (this.#has() ? dice.unit() * most : 0);
    for (const endpoint of mayForge ? endpoints.slice(1) : endpoints) {
      const weather: NetworkWeather = {
        slow: ofSome(0.2),
        lostRequest: ofSome(0.15),
        lostAnswer: ofSome(0.15),
        duplicated: ofSome(0.3),
        refused: ofSome(0.1),
        httpError: ofSome(0.1),
        garbage: ofSome(0.1),
        lie: this.#has(mayForge ? 0.9 : 0.2) ? dice.unit() * (mayForge ? 0.9 : 0.1) : 0,
      };
      Object.assign(endpoint, { weather });
      if (this.#has(0.25)) endpoint.lag = dice.between(1, 4);
      if (this.#has(0.2)) {
        this.#sometimes(2, () => {
          endpoint.isDown = true;
          time.after(dice.between(1000, 20_000), () => (endpoint.isDown = false));
        });
      }
    }
  }

  announcements(): void {
    const { headFeed } = this.parts;
    if (!headFeed) return;
    const dice = this.parts.dice.fork('announcements');
    const ofSome = (most: number) => (dice.chance(0.3) ? dice.unit() * most : 0);
    headFeed.weather = {
      late: ofSome(0.5),
      lost: ofSome(0.5),
      madeUp: ofSome(0.5),
      nonsense: ofSome(0.1),
      broken: ofSome(0.2),
      refused: ofSome(0.5),
      otherChain: ofSome(0.3),
    };
  }

  chain(): void {
    const { chain, dice, time } = this.parts;
    const { mempool } = chain;
    if (this.#has()) mempool.delay = dice.unit() * 0.6;
    if (this.#has()) mempool.drop = dice.unit() * 0.4;
    if (this.#has()) this.#sometimes(3, () => chain.evict());
    if (this.#has()) {
      const loss = this.#has(0.5) ? dice.unit() : 0;
      this.#sometimes(3, () => chain.reorganize(dice.between(1, 6), loss));
    }
    if (this.#has(0.25)) {
      this.#sometimes(2, () => {
        mempool.baseFee = BASE_FEE * BigInt(dice.pick([3, 10, 100, 600]));
        this.#count('tx.underpriced');
        time.after(dice.between(4000, 40_000), () => (mempool.baseFee = BASE_FEE));
      });
    }
    if (this.#has(0.1)) {
      this.#sometimes(1, () => {
        chain.isHalted = true;
        this.#count('chain.halt');
        time.after(dice.between(5000, 60_000), () => (chain.isHalted = false));
      });
    }
  }

  payers(): void {
    const { dice, payments, chain, signers, time } = this.parts;
    const victim = () => dice.pick(payments).authorization;
    if (this.#has(0.25)) {
      this.#sometimes(3, () => {
        const { from, nonce } = victim();
        this.#count('payer.cancelled', from);
        this.#act('cancel', (state) => cancel(state, from, nonce));
      });
    }
    if (this.#has(0.25)) {
      this.#sometimes(3, () => {
        const authorization = victim();
        this.#count('stranger.front-run', authorization.from);
        this.#act('front-run', (state, { timestamp }) => transfer(state, authorization, timestamp));
      });
    }
    if (this.#has(0.2)) {
      this.#sometimes(2, () => {
        const { from } = victim();
        this.#count('payer.drained', from);
        const before = chain.head.after.balances.get(from) ?? 0n;
        this.#act('drain', (state) => (state.balances.set(from, 0n), done));
        if (!dice.chance(0.6)) return;
        time.after(dice.between(3000, 30_000), () =>
          this.#act('refill', (state) => (state.balances.set(from, before), done)),
        );
      });
    }
    if (this.#has(0.15)) {
      this.#sometimes(1, () => {
        const { from } = victim();
        this.#count('payer.blacklisted', from);
        this.#act('blacklist', (state) => (state.blacklisted.add(from), done));
      });
    }
    if (this.#has(0.1)) {
      this.#sometimes(1, () => {
        this.#count('token.paused');
        this.#act('pause', (state) => ((state.isPaused = true), done));
        time.after(dice.between(2000, 30_000), () =>
          this.#act('unpause', (state) => ((state.isPaused = false), done)),
        );
      });
    }
    if (this.#has(0.12)) {
      this.#sometimes(2, () => {
        const { address } = dice.pick(signers);
        this.#count('stranger.took-nonce', address);
        this.#act('theft', (state) => {
          state.nonces.set(address, (state.nonces.get(address) ?? 0n) + 1n);
          return done;
        });
      });
    }
    if (this.#has(0.12)) {
      this.#sometimes(1, () => {
        const { address } = dice.pick(signers);
        this.#count('relayer.drained', address);
        this.#act('dry', (state) => (state.ether.set(address, 10n ** 12n), done));
        time.after(dice.between(5000, 40_000), () =>
          this.#act('wet', (state) => (state.ether.set(address, ETHER), done)),
        );
      });
    }
  }

  machines(): void {
    const { dice, disk, engine, customers, machines } = this.parts;
    if (this.#has(0.2)) {
      this.#sometimes(3, () => {
        const machine = dice.pick(machines);
        const ms = dice.pick([-1, 1]) * dice.pick([500, 3000, 30_000, 600_000]);
        this.#count('clock.step', machine.name, String(ms));
        machine.stepClock(ms);
      });
    }
    if (this.#has(0.35)) {
      this.#sometimes(3, () => {
        const { process } = dice.pick(machines);
        if (!process) return;
        this.#count('crash.anywhere', process.name);
        process.kill();
      });
    }
    if (this.#has(0.15)) {
      this.#sometimes(2, () => {
        const machine = dice.pick(machines);
        this.#count('process.stopped-gently', machine.name);
        void machine.stopGently();
      });
    }
    if (this.#has()) engine.weather.fail = dice.unit() * 0.6;
    if (this.#has(0.15)) engine.weather.timeOut = dice.unit() * 0.3;
    if (this.#has()) customers.leaveChance = dice.unit() * 0.4;
    disk.fateOf = this.#commits();
  }

  /** What becomes of commits: one of them at a certain place, and any of them now and then. */
  #commits(): Disk['fateOf'] {
    const { dice } = this.parts;
    const fates: CommitFate[] = [
      'crash-before',
      'crash-after',
      'full',
      'failed-kept',
      'failed-lost',
    ];
    const share = new Map(fates.map((fate) => [fate, this.#has(0.15) ? dice.unit() * 0.03 : 0]));
    const isSudden = this.#has(0.4);
    let left = dice.between(1, 60);
    const sudden = dice.pick(fates);
    const next = (): CommitFate => {
      left -= 1;
      if (isSudden && left === 0) return sudden;
      return fates.find((fate) => dice.chance(share.get(fate) ?? 0)) ?? 'kept';
    };
    return (process) => {
      // What a disk does to the dead is of no interest.
      const fate = process.isAlive ? next() : 'kept';
      if (fate !== 'kept') this.#count(COUNTED[fate], process.name);
      return fate;
    };
  }
}

const COUNTED: Record<Exclude<CommitFate, 'kept'>, string> = {
  'crash-before': 'crash.before-commit',
  'crash-after': 'crash.after-commit',
  full: 'disk.full',
  'failed-kept': 'disk.failed-kept',
  'failed-lost': 'disk.failed-lost',
};
