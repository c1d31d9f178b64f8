// The peer of channels: @x402/express with `batch-settlement`, its facilitator and its channel manager
// in the same process. Environment as for reference.mjs, and AUTHORIZER_KEY. The message "claim" claims
// and pays out everything, and answers { claimed } with the hashes of the transactions.
import { paymentMiddleware, x402ResourceServer } from '@x402/express';
import {
  BatchSettlementChannelManager,
  BatchSettlementEvmScheme as ServerScheme,
} from '@x402/evm/batch-settlement/server';
import { BatchSettlementEvmScheme as FacilitatorScheme } from '@x402/evm/batch-settlement/facilitator';
import { x402Facilitator } from '@x402/core/facilitator';
import { privateKeyToAccount } from 'viem/accounts';
import { inProcess, NETWORK, routes, serve, signer, USDC } from './reference-parts.mjs';

const { AUTHORIZER_KEY, PAY_TO } = process.env;
const facilitator = inProcess(
  new x402Facilitator().register(NETWORK, new FacilitatorScheme(signer)),
);
const scheme = new ServerScheme(PAY_TO, {
  receiverAuthorizerSigner: privateKeyToAccount(AUTHORIZER_KEY),
  withdrawDelay: 86_400,
});
const server = new x402ResourceServer(facilitator).register(NETWORK, scheme);
const manager = new BatchSettlementChannelManager({
  ...{ scheme, facilitator, receiver: PAY_TO, token: USDC, network: NETWORK },
});
process.on('message', async (message) => {
  if (message !== 'claim') return;
  const { claims, settle } = await manager.claimAndSettle({ maxClaimsPerBatch: 100 });
  const hashes = [...claims.map(({ transaction }) => transaction), settle?.transaction];
  process.send({ claimed: hashes.filter(Boolean) });
});
serve(paymentMiddleware(routes('batch-settlement'), server));
