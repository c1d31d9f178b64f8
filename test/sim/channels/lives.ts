import type { Chain } from '../chain/chain.js';
import { channelIn, finalizeWithdraw, initiateWithdraw } from '../chain/channel-contract.js';
import type { ChainState } from '../chain/state.js';
import { foreign } from '../chain/transactions.js';
import type { Disk } from '../disk.js';
import { ChannelPayer, type PayerWorld, type Purchase } from './payer.js';
import { channelWallet, WITHDRAW_DELAY_SECONDS, type ChannelWallet } from './wallet.js';

export interface ChannelWorld extends Omit<PayerWorld, 'onPurchase'> {
  readonly chain: Chain;
  readonly disk: Disk;
  /** How long faults last, in milliseconds. */
  readonly stormMs: number;
  /** Atomic units that each payer has. */
  readonly purse: bigint;
  readonly minDeposit: bigint;
}

/** A withdrawal that was finished in the chain, and what had been charged by then. */
interface Finished {
  readonly wallet: ChannelWallet;
  readonly charged: bigint;
  readonly claimed: bigint;
}

const PAYERS_MAX = 3;
/** Seconds for which a deposit's authorization is valid: less than the gateway's limit. */
export const VALID_SECONDS = 300;

/** Everybody who pays by a channel in one world. */
export class ChannelCustomers {
  readonly purchases: Purchase[] = [];
  /** By payer and number; a reorganization may do one again, and the last time counts. */
  readonly finished = new Map<string, Finished>();
  readonly wallets: readonly ChannelWallet[];
  #busy = 0;

  constructor(private readonly world: ChannelWorld) {
    const count = world.dice.between(1, PAYERS_MAX);
    this.wallets = Array.from({ length: count }, (_, index) => channelWallet(index));
  }

  /** How many are not done. */
  get busy(): number {
    return this.#busy;
  }

  /** Sends everybody on their way. */
  start(): void {
    for (const wallet of this.wallets) {
      const payer = new ChannelPayer(wallet, {
        ...this.world,
        dice: this.world.dice.fork(wallet.name),
        onPurchase: (purchase) => this.purchases.push(purchase),
      });
      this.#busy += 1;
      void this.#live(payer).finally(() => (this.#busy -= 1));
    }
  }

  async #live(payer: ChannelPayer): Promise<void> {
    const { time, stormMs, minDeposit } = this.world;
    const dice = this.world.dice.fork(`life of ${payer.wallet.name}`);
    await time.sleep(dice.between(100, stormMs));
    const amount = minDeposit * BigInt(dice.between(1, 3));
    await payer.deposit(amount);
    for (let left = dice.between(2, 10); left > 0; left -= 1) {
      await this.#act(payer, dice.unit(), dice.between(2, 8), amount);
      await time.sleep(dice.pick([0, 0, 50, 1000, 5000, 20_000]));
    }
    // Most of the money at risk is charged by then.
    if (dice.chance(0.5)) await this.#withdraw(payer, dice.between(1, 6));
  }

  async #act(payer: ChannelPayer, chance: number, many: number, amount: bigint): Promise<void> {
    const acts: readonly (readonly [share: number, act: () => unknown])[] = [
      [0.4, () => payer.search()],
      [0.2, () => payer.crowd(many)],
      [0.12, () => payer.race(Math.min(many, 4))],
      [0.1, () => payer.replay()],
      [0.06, () => payer.forget()],
      [0.07, () => payer.deposit(amount)],
      [0.05, () => payer.refund()],
    ];
    let sum = 0;
    const [, act] = acts.find(([share]) => (sum += share) > chance) ?? [];
    await act?.();
  }

  /** Withdraws while searches run, goes on paying, and takes the money at the first moment. */
  async #withdraw(payer: ChannelPayer, searches: number): Promise<void> {
    const { time, trace } = this.world;
    const { name, config } = payer.wallet;
    trace.count('channel.withdraws', name);
    const running = payer.crowd(searches);
    this.#inChain(`withdraw ${name}`, (state, environment) =>
      initiateWithdraw(state, config, environment),
    );
    await running;
    const endMs = time.nowMs + WITHDRAW_DELAY_SECONDS * 1000;
    for (let paid = 0; paid < searches; paid += 1) {
      await payer.search();
      await time.sleep(5000);
    }
    // One who hides as long as it can: the last moment at which a voucher might be taken.
    if (time.nowMs < endMs - 60_000) await time.sleep(endMs - 60_000 - time.nowMs);
    await payer.search();
    for (let tries = 0; tries < 60 && this.#isPending(payer.wallet); tries += 1) {
      this.#finish(payer.wallet);
      await time.sleep(2000);
    }
  }

  #isPending({ channelId }: ChannelWallet): boolean {
    return channelIn(this.world.chain.head.after, channelId).withdrawal !== undefined;
  }

  #acts = 0;

  #inChain(what: string, act: Parameters<typeof foreign>[1]): void {
    this.#acts += 1;
    this.world.chain.act(foreign(what, act, `channel ${this.#acts}`));
  }

  #finish(wallet: ChannelWallet): void {
    const { trace, disk } = this.world;
    const name = `${wallet.name} ${this.#acts}`;
    /** What the books say when it happens first: later on the channel may have been opened anew. */
    let charged: bigint | undefined;
    this.#inChain(`finish ${wallet.name}`, (state: ChainState, environment) => {
      const { claimed } = channelIn(state, wallet.channelId);
      const result = finalizeWithdraw(state, wallet.config, environment);
      if (!result.ok) {
        this.finished.delete(name);
        return result;
      }
      charged ??= chargedIn(disk, wallet);
      trace.count('channel.withdrew', wallet.name);
      this.finished.set(name, { wallet, claimed, charged });
      return result;
    });
  }
}

/** What a channel was charged, as the books have it now. */
function chargedIn(disk: Disk, { channelId }: ChannelWallet): bigint {
  const [row] = disk.query(`select charged from channels where id = '${channelId}'`);
  return (row?.charged as bigint | undefined) ?? 0n;
}
