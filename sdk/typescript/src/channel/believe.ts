import type { Channel } from './entry.js';
import type { Correction } from './answer.js';
import { isOwnVoucher, voucherData } from './signed.js';

/**
 * What a payer may believe of a correction, with nothing but its own signature to go by, and no
 * chain to ask: that it owes no more than it has signed. Undefined when the gateway cannot show the
 * signature, or says what nobody signed.
 */
export function believe(
  { id, config, terms }: Pick<Channel, 'id' | 'config' | 'terms'>,
  { state, voucher }: Correction,
): { charged: bigint; highest: bigint; balance: bigint } | undefined {
  const { charged, claimed, balance } = state;
  if (state.channelId.toLowerCase() !== id || claimed > charged) return undefined;
  if (!voucher) return charged === 0n ? { charged, highest: 0n, balance } : undefined;
  if (charged > voucher.signed) return undefined;
  const data = voucherData(id, terms.chainId, voucher.signed);
  if (!isOwnVoucher(config.payerAuthorizer, data, voucher.signature)) return undefined;
  return { charged, highest: voucher.signed, balance };
}
