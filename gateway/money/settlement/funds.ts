import type { Clock, Log } from '../../ground/domain/ports.js';
import type { Address } from '../../ground/domain/units.js';
import { type RelayerFunds, TRANSACTION_BYTES } from '../payment/relayer-funds.js';
import { SHARED_TRANSFER_GAS, TRANSACTION_GAS } from './calls.js';
import type { SettlementChain } from './chain.js';
import type { ChainFacts } from './facts.js';
import { initialFees } from './fees.js';
import type { SettlementSettings } from './settings.js';

const HOUR_MS = 3_600_000;
/** A spend is taken as that of a minute at least, so that one transfer alone is no rate. */
const OBSERVED_MS_MIN = 60_000;
/** A runway shorter than this is worth a line in the log, once an hour. */
const RUNWAY_HOURS_WARN = 24;

/** What one relayer has to spend, and what it has spent lately. */
interface Spending {
  /** Wei, as the chain told last; undefined before it did. */
  seenWei: bigint | undefined;
  /** Wei that our confirmed transactions have cost since. */
  paidWei: bigint;
  spends: { readonly atMs: number; readonly wei: bigint }[];
}

/** A relayer with what its transactions under way may cost. */
export interface Spender {
  readonly address: Address;
  /** Wei that the transactions which are not confirmed yet may cost at most. */
  readonly committedWei: bigint;
  /** The payments in them. */
  readonly carrying: number;
}

/**
 * Follows the gas money of the relayers. Verifications tell their balances along with everything
 * else that they ask for; without any, they are asked for from time to time. What left a balance in
 * the last hour, for gas and for publishing on the layer below, says how long it will last.
 */
export class Funds {
  readonly #spending = new Map<Address, Spending>();
  /** Wei for publishing a transaction with one transfer on the layer below; 0 without one. */
  #publishingWei = 0n;
  #seenAtMs = -Infinity;
  #firstSeenAtMs: number | undefined;
  #warnedAtMs = -Infinity;

  constructor(
    private readonly parts: {
      readonly chain: Pick<SettlementChain, 'balance' | 'publishingFee'>;
      readonly clock: Pick<Clock, 'monotonicMs'>;
      readonly facts: Pick<ChainFacts, 'lastBaseFee'>;
      readonly log: Log;
      readonly settings: SettlementSettings;
    },
    relayers: readonly Address[],
  ) {
    for (const relayer of relayers) {
      this.#spending.set(relayer, { seenWei: undefined, paidWei: 0n, spends: [] });
    }
  }

  /** Asks the chain, unless somebody has told lately. */
  async lookWhenDue(isUrgent: boolean): Promise<void> {
    const ageMs = this.parts.clock.monotonicMs() - this.#seenAtMs;
    if (isUrgent || ageMs >= this.parts.settings.balancePollMs) await this.look();
  }

  /** Asks the chain. @throws when it does not answer. */
  async look(): Promise<void> {
    const { chain } = this.parts;
    const relayers = [...this.#spending.keys()];
    const [publishingWei, ...balances] = await Promise.all([
      chain.publishingFee(TRANSACTION_BYTES),
      ...relayers.map((relayer) => chain.balance(relayer)),
    ]);
    const balancesWei = new Map(relayers.map((relayer, at) => [relayer, balances[at] ?? 0n]));
    this.saw({ balancesWei, publishingWei });
  }

  /** Somebody has asked the chain. */
  saw({ balancesWei, publishingWei }: RelayerFunds): void {
    const atMs = this.parts.clock.monotonicMs();
    this.#firstSeenAtMs ??= atMs;
    this.#seenAtMs = atMs;
    this.#publishingWei = publishingWei;
    for (const [relayer, wei] of balancesWei) {
      const account = this.#spending.get(relayer);
      if (!account) continue;
      const spentWei = account.seenWei === undefined ? 0n : account.seenWei - wei;
      account.spends = account.spends.filter((spend) => atMs - spend.atMs < HOUR_MS);
      if (spentWei > 0n) account.spends.push({ atMs, wei: spentWei });
      account.seenWei = wei;
      account.paidWei = 0n;
    }
    this.#warnWhenShort(atMs);
  }

  /** A transaction of ours is confirmed and has cost so much. */
  paid(relayer: Address, wei: bigint): void {
    const account = this.#spending.get(relayer);
    if (account) account.paidWei += wei;
  }

  /** Wei that a relayer has now, as far as is known; 0 before the chain has told. */
  balanceOf(relayer: Address): bigint {
    const { seenWei = 0n, paidWei = 0n } = this.#spending.get(relayer) ?? {};
    return seenWei > paidWei ? seenWei - paidWei : 0n;
  }

  /** Whether a relayer can pay for one more transaction with one transfer. */
  canSend(spender: Spender): boolean {
    return this.#freeOf(spender) >= this.#costOf(1);
  }

  /**
   * Whether these relayers can pay for everything that is promised and one more, at the fees of the
   * moment, with the reserve untouched: fees may rise before the transfers are made.
   */
  cover(spenders: readonly Spender[], promisedPayments: number): boolean {
    const free = spenders.reduce((sum, spender) => sum + this.#freeOf(spender), 0n);
    const { relayerBalanceMin } = this.parts.settings;
    return free - this.#costOf(promisedPayments + 1) >= relayerBalanceMin;
  }

  /** Hours until new payments are refused, at the rate of the last hour; Infinity without any. */
  runwayHours(): number {
    if (this.#firstSeenAtMs === undefined) return Infinity;
    const observedMs = this.parts.clock.monotonicMs() - this.#firstSeenAtMs;
    const spans = Math.min(Math.max(observedMs, OBSERVED_MS_MIN), HOUR_MS) / HOUR_MS;
    const all = [...this.#spending.values()];
    const spentWei = all.flatMap(({ spends }) => spends).reduce((sum, { wei }) => sum + wei, 0n);
    if (spentWei === 0n) return Infinity;
    const total = [...this.#spending.keys()].reduce((sum, one) => sum + this.balanceOf(one), 0n);
    const left = total - this.parts.settings.relayerBalanceMin;
    return left <= 0n ? 0 : Number(left) / (Number(spentWei) / spans);
  }

  /** Wei that no transaction under way may take. Before the chain has told, all is possible. */
  #freeOf({ address, committedWei, carrying }: Spender): bigint {
    if (this.#spending.get(address)?.seenWei === undefined) return MUCH_WEI;
    const publishingWei = BigInt(carrying) * this.#publishingWei;
    const free = this.balanceOf(address) - committedWei - publishingWei;
    return free > 0n ? free : 0n;
  }

  /** Wei for so many transfers in one transaction, at the fees that it would offer now. */
  #costOf(payments: number): bigint {
    const { maxFeePerGas } = initialFees(this.parts.facts.lastBaseFee, this.parts.settings);
    const gas = TRANSACTION_GAS + BigInt(payments) * SHARED_TRANSFER_GAS;
    return gas * maxFeePerGas + BigInt(payments) * this.#publishingWei;
  }

  #warnWhenShort(atMs: number): void {
    const hours = this.runwayHours();
    if (hours >= RUNWAY_HOURS_WARN || atMs - this.#warnedAtMs < HOUR_MS) return;
    this.#warnedAtMs = atMs;
    const fields = { runwayHours: Number(hours.toPrecision(2)) };
    this.parts.log.warn(
      fields,
      'the relayers’ gas money lasts less than a day at the present rate',
    );
  }
}

/** More than exists. */
const MUCH_WEI = 10n ** 30n;
