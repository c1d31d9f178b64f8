// The peer: @x402/express with its facilitator in the same process, in front of the same search-core.
// Environment: RPC_URL, RELAYER_KEY, PAY_TO, SEARCH_CORE_URL. Reports its port to its parent.
//
// The wallet has viem's nonce manager, without which the peer fails most concurrent payments.
import express from 'express';
import { paymentMiddleware, x402ResourceServer } from '@x402/express';
import { ExactEvmScheme as ServerScheme } from '@x402/evm/exact/server';
import { ExactEvmScheme as FacilitatorScheme } from '@x402/evm/exact/facilitator';
import { toFacilitatorEvmSigner } from '@x402/evm';
import { x402Facilitator } from '@x402/core/facilitator';
import { createWalletClient, http, nonceManager, publicActions } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { base } from 'viem/chains';

const { RPC_URL, RELAYER_KEY, PAY_TO, SEARCH_CORE_URL } = process.env;
const NETWORK = 'eip155:8453';
const account = privateKeyToAccount(RELAYER_KEY, { nonceManager });
const wallet = createWalletClient({
  account,
  chain: base,
  transport: http(RPC_URL),
}).extend(publicActions);

const signer = toFacilitatorEvmSigner({
  address: account.address,
  getCode: (call) => wallet.getCode(call),
  readContract: (call) => wallet.readContract({ ...call, args: call.args ?? [] }),
  verifyTypedData: (call) => wallet.verifyTypedData(call),
  writeContract: (call) => wallet.writeContract({ ...call, args: call.args ?? [] }),
  sendTransaction: (call) => wallet.sendTransaction(call),
  waitForTransactionReceipt: (call) => wallet.waitForTransactionReceipt(call),
});
const facilitator = new x402Facilitator().register(NETWORK, new FacilitatorScheme(signer));
const inProcess = {
  verify: (payload, requirements) => facilitator.verify(payload, requirements),
  settle: (payload, requirements) => facilitator.settle(payload, requirements),
  getSupported: () => Promise.resolve(facilitator.getSupported()),
};

const app = express();
app.use(express.json());
app.use(
  paymentMiddleware(
    {
      'POST /search': {
        accepts: {
          scheme: 'exact',
          network: NETWORK,
          payTo: PAY_TO,
          price: {
            amount: '50',
            asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
            extra: { name: 'USD Coin', version: '2' },
          },
        },
        description: 'Keyword web search',
        mimeType: 'application/json',
      },
    },
    new x402ResourceServer(inProcess).register(NETWORK, new ServerScheme()),
  ),
);
app.post('/search', async (request, response) => {
  const answer = await fetch(`${SEARCH_CORE_URL}/search`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(request.body),
  });
  response
    .status(answer.status)
    .type('json')
    .send(await answer.text());
});
const server = app.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
