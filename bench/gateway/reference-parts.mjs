// What both reference servers share: the relayer's wallet as their facilitator wants it, and the
// search behind them. Environment: RPC_URL, RELAYER_KEY, SEARCH_CORE_URL.
//
// The wallet has viem's nonce manager, without which the peer fails most concurrent payments.
import express from 'express';
import { toFacilitatorEvmSigner } from '@x402/evm';
import { createWalletClient, http, nonceManager, publicActions } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { base } from 'viem/chains';

const { RPC_URL, RELAYER_KEY, SEARCH_CORE_URL } = process.env;
export const NETWORK = 'eip155:8453';
export const USDC = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913';

const account = privateKeyToAccount(RELAYER_KEY, { nonceManager });
const wallet = createWalletClient({
  account,
  chain: base,
  transport: http(RPC_URL),
}).extend(publicActions);

export const signer = toFacilitatorEvmSigner({
  address: account.address,
  getCode: (call) => wallet.getCode(call),
  readContract: (call) => wallet.readContract({ ...call, args: call.args ?? [] }),
  verifyTypedData: (call) => wallet.verifyTypedData(call),
  writeContract: (call) => wallet.writeContract({ ...call, args: call.args ?? [] }),
  sendTransaction: (call) => wallet.sendTransaction(call),
  waitForTransactionReceipt: (call) => wallet.waitForTransactionReceipt(call),
});

/** A facilitator that is called in the same process. */
export const inProcess = (facilitator) => ({
  verify: (payload, requirements) => facilitator.verify(payload, requirements),
  settle: (payload, requirements) => facilitator.settle(payload, requirements),
  getSupported: () => Promise.resolve(facilitator.getSupported()),
});

/** Serves searches behind a payment middleware, and tells the parent its port. */
export function serve(middleware) {
  const app = express();
  app.use(express.json());
  app.use(middleware);
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
}

/** The price of a search in this scheme, as the middleware takes it. */
export const routes = (scheme, extra = {}) => ({
  'POST /search': {
    accepts: {
      scheme,
      network: NETWORK,
      payTo: process.env.PAY_TO,
      price: { amount: '50', asset: USDC, extra: { name: 'USD Coin', version: '2' } },
      extra,
    },
    description: 'Keyword web search',
    mimeType: 'application/json',
  },
});
