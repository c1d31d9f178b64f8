import { decodeFunctionData } from 'viem';
import { batchSettlementAbi } from '../../../contracts-abi/batch-settlement.js';
import type { Hex } from '../../../gateway/ground/domain/units.js';
import type { Sabotage } from '../machine.js';
import { channelWallet } from './wallet.js';

/**
 * Parts of channels that are wrong on purpose: the checks have to find each of them.
 */

/** Milliseconds for which a claim is held back: more than any withdrawal takes. */
const LATE_MS = 1_200_000;

/** An RPC client that answers no trial of a claim until it is too late for it. */
export const lateClaims: Sabotage = {
  client: (client, { clock }) => {
    let firstMs: number | undefined;
    return {
      ...client,
      request: (method, params, options) => {
        if (method !== 'eth_call' || !isClaim((params[0] as { data?: Hex }).data ?? '0x'))
          return client.request(method, params, options);
        firstMs ??= clock.monotonicMs();
        return clock.monotonicMs() - firstMs < LATE_MS
          ? Promise.reject(new Error('the claim is held back'))
          : client.request(method, params, options);
      },
    };
  },
};

/** Books that keep how much was signed, and a lower voucher's signature. */
export const lostSignatures: Sabotage = {
  schema: `create trigger lose_signature after update of signed on channels
    when old.signature is not null and new.signed > old.signed begin
      update channels set signature = old.signature where id = new.id; end`,
};

/** Books that forget every withdrawal: vouchers are taken on, and nothing is claimed at once. */
export const unseenWithdrawals: Sabotage = {
  schema: `create trigger forget_withdrawal after update of withdraw_initiated_at_seconds on channels
    when new.withdraw_initiated_at_seconds is not null begin
      update channels set withdraw_initiated_at_seconds = null, withdraw_amount = null
      where id = new.id; end`,
};

/** Whose channel is spoiled. */
export const SPOILED = channelWallet(0);

/** Spoils the signature of one payer's channel: its rows make a whole claim fail. */
const ONE_BAD_ROW = `create trigger spoil_signature after update of signature on channels
  when new.signature is not null and new.signature not like '0xbad0%'
    and new.id = '${SPOILED.channelId}' begin
    update channels set signature = '0xbad0' || substr(new.signature, 7) where id = new.id; end`;

/** A channel that cannot be claimed, and nothing else wrong: the others are claimed all the same. */
export const oneBadRow: Sabotage = { schema: ONE_BAD_ROW };

/** The same with an RPC client by which no claim ever fails: bad rows are not set apart. */
export const unisolatedBatches: Sabotage = {
  schema: ONE_BAD_ROW,
  client: (client) => ({
    ...client,
    request: async (method, params, options) => {
      const isTrial = method === 'eth_call' && isClaim((params[0] as { data?: Hex }).data ?? '0x');
      return isTrial ? '0x' : client.request(method, params, options);
    },
  }),
};

function isClaim(data: Hex): boolean {
  try {
    const { functionName } = decodeFunctionData({ abi: batchSettlementAbi, data });
    return functionName === 'claimWithSignature' || functionName === 'multicall';
  } catch {
    return false;
  }
}

/** Books in which a voucher that was charged can be taken again. */
export const forgottenVouchers: Sabotage = {
  schema: `create trigger forget_voucher after update of charged_at on channel_vouchers
    when new.charged_at is not null begin
      delete from channel_vouchers where channel_id = new.channel_id
        and cumulative = new.cumulative and new.cumulative % 100 = 0; end`,
};
