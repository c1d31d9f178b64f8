import type { Clock, Log } from '../../ground/domain/ports.js';
import type { Address, Bytes32, TransactionHash } from '../../ground/domain/units.js';
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
  readonly books: Pick<ChainBooks, 'freeze' | 'thaw' | 'frozen' | 'isExclusive'>;
  readonly intents: Pick<IntentBooks, 'isOpen'>;
  readonly sender: ContractSender;
  readonly authorizers: readonly Authorizer[];
  readonly costs: Pick<ClaimCosts, 'refund'>;
  /** The share of what a channel has earned that its refund may cost, in hundredths. */
  readonly costPercentMax: number;
  readonly clock: Pick<Clock, 'now' | 'sleep' | 'monotonicMs'>;
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
/** Milliseconds from the freeze within which a refund goes out, or not at all. */
const SEND_MS_MAX = 60_000;
/** Another gateway's refund that is older was sent, and stands in the books, or never will be. */
const FOREIGN_MS_MAX = 2 * SEND_MS_MAX;

/**
 * Gives payers back what is left in their channels, at the operator's cost: together with a claim of
 * everything charged, in one transaction, so that a refund can never take what is owed. From the
 * signature on the channel is frozen until the refund is final.
 */
export class Refunds {
  /** Channels whose refund this process makes, and which may not be in the books yet. */
  readonly #underway = new Set<Bytes32>();

  constructor(private readonly parts: RefundParts) {}

  /**
   * @param asked atomic units; everything that is left where it is absent or more than that
   * @param waitMs for how long its block is waited for
   * Where the chain or a signer does not answer, nothing was sent, or it is `pending`.
   */
  async refund(
    channel: Channel,
    asked: bigint | undefined,
    { waitMs }: { waitMs: number },
  ): Promise<RefundAnswer> {
    const { costs, costPercentMax } = this.parts;
    const left = channel.onChain.balance - channel.charged;
    if (left <= 0n) return refused('no-balance');
    const cost = await costs.refund().catch(() => undefined);
    if (cost === undefined) return refused('unavailable');
    if (cost * 100n > channel.charged * BigInt(costPercentMax)) return refused('not-earned');
    const relayer = await this.parts.sender.relayer('refund');
    if (relayer === undefined) return refused('unavailable');
    if (this.#underway.has(channel.id)) return refused('busy');
    this.#underway.add(channel.id);
    const sent = await this.#send(channel, asked, relayer).finally(() =>
      this.#underway.delete(channel.id),
    );
    return 'kind' in sent ? sent : this.#await(channel.id, sent.since, waitMs);
  }

  /** Freezes, signs and sends; what comes back is the block since which the refund may be mined. */
  async #send(
    channel: Channel,
    asked: bigint | undefined,
    relayer: Address,
  ): Promise<RefundAnswer | { readonly since: bigint }> {
    const { books, contract, clock } = this.parts;
    const startedMs = clock.monotonicMs();
    const frozen = await books.freeze(channel.id);
    if (!frozen) return refused('busy');
    try {
      const head = await this.parts.chain.block('latest');
      const [state] = await contract.states([channel.id], head.number);
      if (!state || state.withdrawal) throw new Error('its payer withdraws');
      const free = state.balance - frozen.charged;
      const amount = asked === undefined || asked > free ? free : asked;
      if (amount <= 0n) return await this.#giveUp(channel.id, 'no-balance');
      const call = await this.#call({ ...frozen, onChain: state }, amount);
      const revert =
        call && (await this.parts.chain.revertData({ from: relayer, ...call }, head.number));
      if (!call || revert !== undefined) return await this.#giveUp(channel.id, 'unavailable');
      const isLate = clock.monotonicMs() - startedMs > SEND_MS_MAX;
      if (isLate || !(await this.parts.sender.send('refund', relayer, call)))
        return await this.#giveUp(channel.id, 'unavailable');
      return { since: head.number };
    } catch (error) {
      // Whether it was signed is unknown here: maintenance ends the freeze when none is open.
      this.parts.log.warn({ channel: channel.id, error: String(error) }, 'could not refund');
      return refused('unavailable');
    }
  }

  /** Ends freezes whose refund is final, or was never sent. */
  async thaw(safeBlock: bigint): Promise<void> {
    const { books, intents, chain, contract } = this.parts;
    const ids = (await books.frozen()).filter((one) => !this.#mayYetGoOut(one)).map(({ id }) => id);
    if (ids.length === 0 || (await intents.isOpen(chain.chainId, 'refund'))) return;
    // None is under way, so the newest block, read only now, shows each that was made. Once the safe
    // block says the same, no reorganization takes it back.
    const newest = await contract.states(ids, (await chain.block('latest')).number);
    const safe = await contract.states(ids, safeBlock);
    for (const [index, id] of ids.entries()) {
      if (newest[index]?.refundNonce === safe[index]?.refundNonce) await books.thaw(id);
    }
  }

  /** Whether a refund of this frozen channel may be on its way to the books, here or elsewhere. */
  #mayYetGoOut({ id, frozenAt }: Channel): boolean {
    if (this.#underway.has(id)) return true;
    const { books, clock } = this.parts;
    // With the books to itself, an earlier process can send nothing any more.
    return !books.isExclusive && clock.now() - (frozenAt ?? 0) < FOREIGN_MS_MAX;
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
      const found = await chain
        .block('latest')
        .then((head) => contract.refundIn(channelId, from, head.number))
        .catch(() => undefined);
      if (found) return { kind: 'refunded', ...found };
      await clock.sleep(LOOK_MS);
    }
    return { kind: 'pending' };
  }
}

const refused = (because: RefundRefusal): RefundAnswer => ({ kind: 'refused', because });
