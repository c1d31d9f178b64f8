import type { Clock, Log } from '../../ground/domain/ports.js';
import type { Address } from '../../ground/domain/units.js';
import type { ChainBooks, UnclaimedChannel } from '../channel-books/chain-books.js';
import type { SettlementChain } from '../settlement/chain.js';
import { readRevert } from '../payment/revert.js';
import type { Authorizer } from './authorizer.js';
import {
  CLAIM_ROWS_MAX,
  claimData,
  claimGas,
  contractCall,
  SWEEP_GAS,
  sweepData,
  type ClaimRow,
} from './calls.js';
import type { ChannelContract } from './contract.js';
import type { ClaimCosts } from './costs.js';
import { claimReason } from './rules.js';
import type { ContractSender } from './sender.js';

export interface ClaimerParts {
  readonly chain: Pick<SettlementChain, 'revertData'>;
  readonly contract: Pick<ChannelContract, 'receivable'>;
  readonly books: Pick<ChainBooks, 'unclaimed'>;
  readonly sender: ContractSender;
  /** The keys that channels may name: today's, and earlier ones. */
  readonly authorizers: readonly Authorizer[];
  readonly costs: ClaimCosts;
  readonly settings: ClaimSettings;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Log;
}

export interface ClaimSettings {
  /** The share of what is claimed that its claim may cost, in hundredths. */
  readonly costPercentMax: number;
  /** Milliseconds for which a charged search waits for its claim at most. */
  readonly deadlineMs: number;
}

/** Claims what channels were charged, many in one transaction, as soon as the rules say so. */
export class Claimer {
  constructor(private readonly parts: ClaimerParts) {}

  /**
   * Sends at most one claim, with withdrawals first. The contract skips what was claimed already, so
   * doing this twice costs gas and nothing else.
   *
   * @param block what is simulated stands on the end of this block
   * @returns how many channels were claimed
   * @throws when the chain or a signer does not answer; the next round tries again.
   */
  async claimDue(block: bigint): Promise<number> {
    const { books, sender, log } = this.parts;
    const due = await this.#due(await books.unclaimed());
    if (due.length === 0) return 0;
    const relayer = await sender.relayer('claim');
    if (relayer === undefined) return 0;
    for (const [authorizer, channels] of this.#byAuthorizer(due)) {
      const rows = channels.flatMap(rowOf).slice(0, CLAIM_ROWS_MAX);
      const good = await this.#withoutBad(rows, authorizer, relayer, block);
      if (good.length === 0) continue;
      const isSent = await this.#send(good, authorizer, relayer, block);
      if (isSent) log.info({ channels: good.length }, 'claiming what channels were charged');
      return isSent ? good.length : 0;
    }
    return 0;
  }

  async #due(unclaimed: readonly UnclaimedChannel[]): Promise<readonly UnclaimedChannel[]> {
    if (unclaimed.length === 0) return [];
    const { costs, settings, clock } = this.parts;
    const policy = { rowCost: await costs.claimRow(), ...settings, now: clock.now() };
    const due = unclaimed.flatMap((channel) => {
      const reason = claimReason(channel, policy);
      return reason ? [{ channel, reason }] : [];
    });
    const isUrgent = ({ reason }: (typeof due)[number]) => reason === 'withdrawal';
    return [...due.filter(isUrgent), ...due.filter((one) => !isUrgent(one))].map(
      ({ channel }) => channel,
    );
  }

  /** One claim's rows have one authorizer; the group of the most urgent channel comes first. */
  #byAuthorizer(due: readonly UnclaimedChannel[]): Map<Authorizer, UnclaimedChannel[]> {
    const groups = new Map<Authorizer, UnclaimedChannel[]>();
    for (const channel of due) {
      const { receiverAuthorizer } = channel.config;
      const authorizer = this.parts.authorizers.find(
        ({ address }) => address === receiverAuthorizer,
      );
      if (!authorizer) {
        const fields = { channel: channel.id, receiverAuthorizer };
        this.parts.log.error(fields, 'no key of ours can claim this channel');
        continue;
      }
      groups.set(authorizer, [...(groups.get(authorizer) ?? []), channel]);
    }
    return groups;
  }

  /** Leaves out rows with which the contract would refuse the whole claim: halves until they are alone. */
  async #withoutBad(
    rows: readonly ClaimRow[],
    authorizer: Authorizer,
    relayer: Address,
    block: bigint,
  ): Promise<readonly ClaimRow[]> {
    const [first] = rows;
    if (!first) return [];
    const data = await this.#claimData(rows, authorizer, relayer);
    const trial = { from: relayer, ...contractCall([data], 0n) };
    const revert = await this.parts.chain.revertData(trial, block);
    if (revert === undefined) return rows;
    if (rows.length === 1) {
      const why = readRevert(revert)?.reason ?? revert.slice(0, 10);
      this.parts.log.error({ channel: first.channel.id, why }, 'a channel cannot be claimed');
      return [];
    }
    const middle = Math.ceil(rows.length / 2);
    return [
      ...(await this.#withoutBad(rows.slice(0, middle), authorizer, relayer, block)),
      ...(await this.#withoutBad(rows.slice(middle), authorizer, relayer, block)),
    ];
  }

  async #send(
    rows: readonly ClaimRow[],
    authorizer: Authorizer,
    relayer: Address,
    block: bigint,
  ): Promise<boolean> {
    const data = [await this.#claimData(rows, authorizer, relayer)];
    let gas = claimGas(rows.length);
    const sweep = await this.#sweep(rows, block);
    if (sweep) {
      data.push(sweep);
      gas += SWEEP_GAS;
    }
    return this.parts.sender.send('claim', relayer, contractCall(data, gas));
  }

  async #claimData(rows: readonly ClaimRow[], authorizer: Authorizer, relayer: Address) {
    const entries = rows.map(({ channel, totalClaimed }) => ({
      channelId: channel.id,
      maxClaimableAmount: channel.signed,
      totalClaimed,
    }));
    const isOwn = authorizer.address === relayer;
    return claimData(rows, isOwn ? undefined : await authorizer.signClaims(entries));
  }

  /** Pays the receiver along with a claim, once what has gathered is worth its gas. */
  async #sweep(rows: readonly ClaimRow[], block: bigint) {
    const { contract, costs, settings } = this.parts;
    const [first] = rows;
    if (!first) return undefined;
    const { receiver, token } = first.channel.config;
    const { claimed, settled } = await contract.receivable(receiver, token, block);
    const fresh = rows.reduce(
      (sum, { channel, totalClaimed }) => sum + totalClaimed - channel.onChain.claimed,
      0n,
    );
    const gathered = claimed - settled + fresh;
    const cost = await costs.sweep();
    const isWorth = cost * 100n <= gathered * BigInt(settings.costPercentMax);
    return isWorth ? sweepData(receiver, token) : undefined;
  }
}

/** What was charged is claimed, never what was signed. */
function rowOf(channel: UnclaimedChannel): ClaimRow[] {
  const { signature, charged } = channel;
  return signature === undefined ? [] : [{ channel, signature, totalClaimed: charged }];
}
