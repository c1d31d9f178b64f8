import { readConfig, type Config } from '../../gateway/wiring/config.js';
import { usdcUnits } from '../../gateway/ground/domain/units.js';
import { ChannelCustomers, VALID_SECONDS, type ChannelWorld } from './channels/lives.js';
import { WITHDRAW_DELAY_SECONDS } from './channels/wallet.js';
import { Chain } from './chain/chain.js';
import { createNode } from './chain/node.js';
import { checkDelivery } from './delivery-check.js';
import { Customers } from './customers.js';
import { Dice } from './dice.js';
import type { Disk } from './disk.js';
import { Engine } from './engine.js';
import { SimulatedHeadFeed } from './head-feed.js';
import { createLiar } from './liar.js';
import { Machine, type Sabotage } from './machine.js';
import { CALM, type NetworkEndpoint } from './network.js';
import { isBurner, TERMS, type Payer, type SignedPayment } from './payers.js';
import { createSimSigner, type SimSigner } from './relayers.js';
import { ETHER, type StormParts } from './storm.js';
import { VirtualTime } from './time.js';
import { Trace } from './trace.js';

/** Everything that a world is made of. */
export interface WorldParts extends StormParts {
  /** How long its faults last. */
  readonly stormMs: number;
  /** Those who pay by channels, in worlds that have any. */
  readonly channels: ChannelCustomers | undefined;
  violation(what: string): void;
}

export interface Beginning {
  readonly seed: number;
  readonly disk: Disk;
  readonly payers: readonly Payer[];
  readonly sabotage: Sabotage;
  readonly show: ((line: string) => void) | undefined;
  /** Whether payers have channels in this world, too. */
  readonly hasChannels: boolean;
}

const BASE_CONFIG: Config = readConfig(
  {
    RPC_URLS: 'http://127.0.0.1:1/',
    PAY_TO: TERMS.payTo,
    RELAYER_PRIVATE_KEY: `0x${'11'.repeat(32)}`,
    LOG_LEVEL: 'silent',
  },
  [],
);

/** Makes a world from a seed; nothing has happened in it yet. */
export function createWorld(
  { seed, disk, payers, sabotage, show, hasChannels }: Beginning,
  violations: string[],
): WorldParts {
  disk.wipe();
  const time = new VirtualTime();
  const trace = new Trace(() => time.nowMs, show);
  const dice = new Dice(`world ${seed}`);
  const violation = (what: string) => {
    violations.push(what);
    trace.event('VIOLATION', what);
  };
  const stormMs = dice.between(8000, 36_000);
  const isHonest = (payer: Payer) => !isBurner(payer.address);
  const payments = [
    ...choosePayments(payers.filter(isHonest), dice),
    ...chooseBurners(payers, dice.fork('burners')),
  ];
  const signers = [0, 1].slice(0, dice.chance(0.3) ? 2 : 1).map(createSimSigner);
  const chain = createChain(signers, payments, { dice, trace, time });
  const endpoints = createEndpoints(chain, signers, dice, trace);
  // The label decides what the dice give, so recorded seeds keep their worlds.
  const headDice = dice.fork('herald');
  const headFeed = headDice.chance(0.5)
    ? new SimulatedHeadFeed({ chain, time, dice: headDice, trace })
    : undefined;
  const engine = new Engine(time, dice.fork('engine'), trace);
  const channelDice = dice.fork('channels');
  const channelTerms = hasChannels ? chooseTerms(channelDice) : undefined;
  const config: Config = {
    ...BASE_CONFIG,
    ...channelTerms,
    CONFIRMATIONS: dice.pick([1, 1, 1, 2, 3]),
    PRECONFIRMATIONS: showBlocksInTheMaking(chain, dice.fork('flashblocks')),
    SETTLEMENT_WAIT_MS: dice.pick([2000, 20_000]),
  };
  const isShownEnough = config.PRECONFIRMATIONS;
  const names = dice.chance(0.2) ? ['east', 'west'] : ['gateway'];
  disk.isShared = names.length > 1;
  const nodes = { endpoints, headFeed };
  const site = { time, trace, dice: dice.fork('machines'), ...nodes, signers, config, sabotage };
  const machines = names.map(
    (name) =>
      new Machine(name, {
        ...site,
        mount: (process, onFailed) => disk.mount(process, onFailed),
        runSearch: (process) => engine.runFor(process),
        violation,
      }),
  );
  const customers = new Customers({
    time,
    dice: dice.fork('customers'),
    trace,
    machines,
    onDelivery: (delivery) => {
      const wrong = checkDelivery(chain, delivery, { isShownEnough });
      if (wrong !== undefined) violation(wrong);
    },
    violation,
  });
  const channels =
    channelTerms &&
    createChannelCustomers({
      ...{ time, trace, machines, chain, disk, stormMs, violation, dice: channelDice },
    });
  const people = { engine, customers, channels, payments, signers };
  return { time, dice, trace, chain, ...nodes, machines, disk, ...people, stormMs, violation };
}

/** What one ETH costs in worlds where claims pay for themselves at once, and in others. */
const ETH_USD = [0.0001, 30];
/** Atomic units of a channel's payer. */
const MIN_DEPOSIT = 20_000n;
const PURSE = 10_000_000n;
export const UNSAFE_MAX = 2_000n;

function chooseTerms(dice: Dice): Partial<Config> {
  return {
    CHANNELS: true,
    CHANNEL_WITHDRAW_DELAY_SECONDS: WITHDRAW_DELAY_SECONDS,
    CHANNEL_MIN_DEPOSIT_USD: usdcUnits(MIN_DEPOSIT),
    CHANNEL_UNSAFE_USD: usdcUnits(UNSAFE_MAX),
    ETH_USD: dice.pick(ETH_USD),
  };
}

function createChannelCustomers(
  world: Omit<ChannelWorld, 'validSeconds' | 'purse' | 'minDeposit'>,
): ChannelCustomers {
  const { balances } = world.chain.head.after;
  const customers = new ChannelCustomers({
    ...world,
    ...{ validSeconds: VALID_SECONDS, purse: PURSE, minDeposit: MIN_DEPOSIT },
  });
  for (const { config } of customers.wallets) balances.set(config.payer, PURSE);
  return customers;
}

/** In some worlds nodes show blocks before they are made; returns whether that is to be enough. */
function showBlocksInTheMaking({ flashblocks }: Chain, dice: Dice): boolean {
  flashblocks.isOn = dice.chance(0.4);
  flashblocks.isHashed = dice.chance(0.3);
  flashblocks.vanish = dice.chance(0.5) ? dice.unit() * 0.6 : 0;
  return flashblocks.isOn && dice.chance(0.7);
}

function choosePayments(payers: readonly Payer[], dice: Dice): SignedPayment[] {
  const chosen = payers.flatMap(({ payments }) => (dice.chance(0.4) ? payments : []));
  return (chosen.length > 0 ? chosen : payers.flatMap(({ payments }) => payments))
    .map((payment) => ({ payment, order: dice.unit() }))
    .sort((a, b) => a.order - b.order)
    .slice(0, dice.between(1, 6))
    .map(({ payment }) => payment);
}

/** In some worlds, payments by accounts that pass every simulation and burn gas in transactions. */
function chooseBurners(payers: readonly Payer[], dice: Dice): SignedPayment[] {
  if (!dice.chance(0.4)) return [];
  const burners = payers.filter((payer) => isBurner(payer.address));
  const payments = burners.flatMap((burner) => burner.payments);
  return payments.filter(() => dice.chance(0.35)).slice(0, 8);
}

function createChain(
  signers: readonly SimSigner[],
  payments: readonly SignedPayment[],
  { dice, trace, time }: { dice: Dice; trace: Trace; time: VirtualTime },
): Chain {
  const genesis = {
    ether: new Map(signers.map(({ address }) => [address, ETHER])),
    nonces: new Map(signers.map(({ address }) => [address, BigInt(dice.between(0, 3))])),
    balances: new Map(
      payments.map(({ authorization: { from } }) => [from, BigInt(dice.between(40, 500))]),
    ),
    authorizations: new Map(),
    blacklisted: new Set<never>(),
    isPaused: false,
    hasCappedBatch: dice.fork('batch').chance(0.8),
    delegated: new Set<never>(),
    channels: new Map(),
    receivers: new Map(),
  };
  return new Chain(genesis, dice.fork('chain'), trace, () => time.nowMs);
}

type WorldEndpoint = StormParts['endpoints'][number];

function createEndpoints(
  chain: Chain,
  signers: readonly SimSigner[],
  dice: Dice,
  trace: Trace,
): WorldEndpoint[] {
  const endpoints = Array.from({ length: dice.pick([1, 1, 2, 3]) }, (_, index) =>
    createEndpoint(index, chain, signers, dice.fork(`endpoint ${index}`), trace),
  );
  const mayForge = () => endpoints.length > 1 && endpoints[0]?.weather === CALM;
  for (const [index, endpoint] of endpoints.entries()) {
    const lies = { dice: dice.fork(`lies of ${endpoint.name}`), trace };
    endpoint.liar = createLiar(chain, mayForge, index, lies);
  }
  return endpoints;
}

function createEndpoint(
  index: number,
  chain: Chain,
  signers: readonly SimSigner[],
  dice: Dice,
  trace: Trace,
): WorldEndpoint & { liar: NetworkEndpoint['liar'] } {
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
