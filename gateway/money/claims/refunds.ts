import type { Clock, Log } from '../../ground/domain/ports.js';
import type { Bytes32, TransactionHash } from '../../ground/domain/units.js';
import type { ChainBooks } from '../channel-books/chain-books.js';
import type { Channel } from '../channels/channel.js';
import type { IntentBooks } from '../ledger/intent-books.js';
import type { SettlementChain } from '../settlement/chain.js';
import type { Authorizer } from './authorizer.js';
import { claimData, contractCall, refundData, refundGas } from './calls.js';
import type { ChannelContract } from './contract.js';
import type { ClaimCosts } from './costs.js';
import type { ContractSender } from './sender.js';

export interface RefundParts {
  readonly chain: Pick<SettlementChain, 'block' | 'revertData' | 'chainId'>;
  readonly contract: Pick<ChannelContract, 'states' | 'refundIn'>;
  readonly books: Pick<ChainBooks, 'freeze' | 'thaw' | 'frozen'>;
  readonly intents: Pick<IntentBooks, 'isOpen'>;
  readonly sender: ContractSender;
  readonly authorizers: readonly Authorizer[];
  readonly costs: Pick<ClaimCosts, 'refund'>;
  /** The share of what a channel has earned that its refund may cost, in hundredths. */
  readonly costPercentMax: number;
  readonly clock: Pick<Clock, 'sleep' | 'monotonicMs'>;
  readonly log: Log;
}

export type RefundAnswer =
  /** It is in a block. */
  | { readonly kind: 'refunded'; readonly transaction: TransactionHash; readonly amount: bigint }
  /** It was sent and is in no block yet: the channel stays frozen until its outcome is final. */
  | { readonly kind: 'pending' }
  | { readonly kind: 'refused'; readonly because: RefundRefusal };

export type RefundRefusal =
  /** There is nothing left in the channel. */
  | 'no-balance'
  /** Searches run, or another refund does. */
  | 'busy'
  /** The channel has not earned the gas: its payer can withdraw alone, after the delay. */
  | 'not-earned'
  /** No relayer has room, or the contract would refuse it. */
  | 'unavailable';

/** Milliseconds between two looks for a refund's block. */
const LOOK_MS = 250;

/**
 * Gives payers back what is left in their channels, at the operator's cost: together with a claim of
 * everything charged, in one transaction, so that a refund can never take what is owed. From the
 * signature on the channel is frozen until the refund is final.
 */
export class Refunds {
  constructor(private readonly parts: RefundParts) {}

  /**
   * @param asked atomic units; everything that is left where it is absent or more than that
   * @param waitMs for how long its block is waited for
   * @throws when the chain or a signer does not answer; nothing was sent then.
   */
  async refund(
    channel: Channel,
    asked: bigint | undefined,
    { waitMs }: { waitMs: number },
  ): Promise<RefundAnswer> {
    const { books, contract, costs, costPercentMax } = this.parts;
    const left = channel.onChain.balance - channel.charged;
    if (left <= 0n) return refused('no-balance');
    const cost = await costs.refund();
    if (cost * 100n > channel.charged * BigInt(costPercentMax)) return refused('not-earned');
    const relayer = await this.parts.sender.relayer('refund');
    if (relayer === undefined) return refused('unavailable');
    const frozen = await books.freeze(channel.id);
    if (!frozen) return refused('busy');
    const head = await this.parts.chain.block('latest');
    try {
      const [state] = await contract.states([channel.id], head.number);
      if (!state || state.withdrawal) throw new Error('its payer withdraws');
      const free = state.balance - frozen.charged;
      const amount = asked === undefined || asked > free ? free : asked;
      if (amount <= 0n) return await this.#giveUp(channel.id, 'no-balance');
      const call = await this.#call({ ...frozen, onChain: state }, amount);
      const revert =
        call && (await this.parts.chain.revertData({ from: relayer, ...call }, head.number));
      if (!call || revert !== undefined) return await this.#giveUp(channel.id, 'unavailable');
      if (!(await this.parts.sender.send('refund', relayer, call)))
        return await this.#giveUp(channel.id, 'unavailable');
    } catch (error) {
      // Whether it was signed is unknown here: maintenance ends the freeze when none is open.
      this.parts.log.warn({ channel: channel.id, error: String(error) }, 'could not refund');
      return refused('unavailable');
    }
    return this.#await(channel.id, head.number, waitMs);
  }

  /** Ends freezes whose refund is final, or was never sent. */
  async thaw(safeBlock: bigint): Promise<void> {
    const { books, intents, chain, contract } = this.parts;
    const frozen = await books.frozen();
    if (frozen.length === 0 || (await intents.isOpen(chain.chainId, 'refund'))) return;
    const ids = frozen.map(({ id }) => id);
    const safe = await contract.states(ids, safeBlock);
    for (const [index, channel] of frozen.entries()) {
      // The books follow the newest block: once the safe one says the same, nothing is under way.
      if (safe[index]?.refundNonce === channel.onChain.refundNonce) await books.thaw(channel.id);
    }
  }

  async #call(channel: Channel, amount: bigint) {
    const { receiverAuthorizer } = channel.config;
    const authorizer = this.parts.authorizers.find(({ address }) => address === receiverAuthorizer);
    if (!authorizer) return undefined;
    const { id: channelId, charged, signed, signature, onChain } = channel;
    const nonce = onChain.refundNonce;
    const authorization = await authorizer.signRefund({ channelId, nonce, amount });
    const refund = refundData(channel, { amount, nonce, authorization });
    if (charged <= onChain.claimed || signature === undefined)
      return contractCall([refund], refundGas(0));
    const entry = { channelId, maxClaimableAmount: signed, totalClaimed: charged };
    const claim = claimData(
      [{ channel, signature, totalClaimed: charged }],
      await authorizer.signClaims([entry]),
    );
    return contractCall([claim, refund], refundGas(1));
  }

  async #giveUp(channelId: Bytes32, because: RefundRefusal): Promise<RefundAnswer> {
    await this.parts.books.thaw(channelId);
    return refused(because);
  }

  async #await(channelId: Bytes32, from: bigint, waitMs: number): Promise<RefundAnswer> {
    const { chain, contract, clock } = this.parts;
    const end = clock.monotonicMs() + waitMs;
    while (clock.monotonicMs() < end) {
      const head = await chain.block('latest');
      const found = await contract.refundIn(channelId, from, head.number);
      if (found) return { kind: 'refunded', ...found };
      await clock.sleep(LOOK_MS);
    }
    return { kind: 'pending' };
  }
}

const refused = (because: RefundRefusal): RefundAnswer => ({ kind: 'refused', because });
