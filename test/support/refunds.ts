import { privateKeyToAccount } from 'viem/accounts';
import { decodePaymentRequiredHeader } from '@x402/core/http';
import { address } from '../../gateway/ground/domain/units.js';
import { channelOf, idOf, signVoucher } from './channels.js';
import type { TestService } from './service.js';

/** The header that asks for a refund of a channel which this service does not know. */
export async function signRefundOfNothing(service: TestService): Promise<string> {
  const probe = await fetch(`${service.gatewayUrl}/channels`);
  await probe.arrayBuffer();
  const { accepts } = decodePaymentRequiredHeader(probe.headers.get('payment-required') ?? '');
  const accepted = accepts.find(({ scheme }) => scheme === 'batch-settlement');
  if (!accepted) throw new Error('no channels are offered');
  const account = privateKeyToAccount(service.dev.payerPrivateKey as `0x${string}`);
  const channelConfig = channelOf(
    { address: address(account.address) },
    {
      receiver: address(accepted.payTo),
      receiverAuthorizer: address(String(accepted.extra.receiverAuthorizer)),
    },
  );
  const signature = await signVoucher(account, channelConfig, 0n);
  const voucher = { channelId: idOf(channelConfig), maxClaimableAmount: '0', signature };
  const payload = { type: 'refund', channelConfig, voucher };
  return Buffer.from(JSON.stringify({ x402Version: 2, accepted, payload })).toString('base64');
}
