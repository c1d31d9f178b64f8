import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { x402Client } from '@x402/core/client';
import { BatchSettlementEvmScheme } from '@x402/evm/batch-settlement/client';
import { wrapFetchWithPayment } from '@x402/fetch';
import { parseEther } from 'viem';
import { channelCall, channelState, settlement } from '../support/channels.js';
import { reachDevChain, type Payer } from '../support/chain.js';
import { receiptOf } from '../support/pay.js';
import { startTestService, type TestService } from '../support/service.js';
import { until } from '../support/until.js';

/** Looks and blocks come every second or so; a loaded machine may take much longer. */
const WAIT_MS = 60_000;
/** ETH that costs next to nothing: every claim and every refund is worth its gas. */
const CHEAP_GAS = { CHANNELS: 'on', ETH_USD: '0.0001' };

let service: TestService;
let chain: Awaited<ReturnType<typeof reachDevChain>>;

beforeAll(async () => {
  service = await startTestService({ env: CHEAP_GAS });
  chain = await reachDevChain(service.dev.rpcUrl);
}, 60_000);
afterAll(() => service.stop());

/** An official client of one payer, and its channel with this service. */
function clientOf(payer: Payer) {
  const scheme = new BatchSettlementEvmScheme(payer.account);
  const pay = wrapFetchWithPayment(fetch, new x402Client().register('eip155:8453', scheme));
  const config = {
    payer: payer.address,
    payerAuthorizer: payer.address,
    receiver: chain.payTo,
    receiverAuthorizer: chain.relayerAddress,
    token: chain.asset,
    withdrawDelay: 86_400,
    salt: `0x${'0'.repeat(64)}`,
  } as const;
  return {
    ...{ scheme, config },
    search: (query: string) =>
      pay(`${service.gatewayUrl}/search`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ query }),
      }),
  };
}

/** What the channel was charged in all, as a receipt tells it. */
function chargedOf(reply: Response): string {
  const { channelState: state } = receiptOf(reply).extra as {
    channelState: { chargedCumulativeAmount: string };
  };
  return state.chargedCumulativeAmount;
}

describe('what was charged', () => {
  test('is claimed once it has earned its gas, and the payee is paid', async () => {
    const payer = await chain.newPayer({ usdc: 1_000_000n });
    const { search, config } = clientOf(payer);
    for (const query of ['bread', 'tides', 'lamp']) expect((await search(query)).status).toBe(200);
    await until(async () => (await channelState(chain, config)).totalClaimed === 150n, WAIT_MS);
    expect((await search('salt')).status).toBe(200);
    await until(async () => (await channelState(chain, config)).totalClaimed === 200n, WAIT_MS);
    expect(await chain.balance(chain.payTo)).toBeGreaterThanOrEqual(150n);
  });

  test('is claimed before a withdrawal matures, and no voucher is taken once one has begun', async () => {
    const payer = await chain.newPayer({ usdc: 1_000_000n });
    const { search, config } = clientOf(payer);
    expect((await search('bread')).status).toBe(200);
    await chain.client.setBalance({ address: payer.address, value: parseEther('1') });
    const start = channelCall('initiateWithdraw', [config, 49_950n]);
    await chain.sendFrom(payer.privateKey, settlement, start);
    let charged = '50';
    await until(async () => {
      const reply = await search('tides');
      if (reply.status === 200) charged = chargedOf(reply);
      return reply.status === 402;
    }, WAIT_MS);
    const claimed = async () => (await channelState(chain, config)).totalClaimed;
    await until(async () => (await claimed()) === BigInt(charged), WAIT_MS);
    expect((await search('lamp')).status).toBe(402);
  });
});

describe('a refund', () => {
  test('by the official client gives back what is left', async () => {
    const payer = await chain.newPayer({ usdc: 1_000_000n });
    const { scheme, search } = clientOf(payer);
    expect((await search('bread')).status).toBe(200);
    expect((await search('lighthouse')).status).toBe(200);
    const receipt = await scheme.refund(`${service.gatewayUrl}/channels`);
    expect(receipt).toMatchObject({
      success: true,
      amount: '49900',
      extra: { channelState: { balance: '100', chargedCumulativeAmount: '100' } },
    });
    expect(await chain.balance(payer.address)).toBe(999_900n);
  });

  test('that costs more than the channel has earned is refused, and says how to withdraw', async () => {
    const dear = await startTestService({ env: { CHANNELS: 'on' } });
    try {
      const other = await reachDevChain(dear.dev.rpcUrl);
      const payer = await other.newPayer({ usdc: 1_000_000n });
      const scheme = new BatchSettlementEvmScheme(payer.account);
      const pay = wrapFetchWithPayment(fetch, new x402Client().register('eip155:8453', scheme));
      const paid = await pay(`${dear.gatewayUrl}/search`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ query: 'bread' }),
      });
      expect(receiptOf(paid).success).toBe(true);
      await expect(scheme.refund(`${dear.gatewayUrl}/channels`)).rejects.toThrow(
        'invalid_batch_settlement_evm_refund_amount_invalid',
      );
    } finally {
      await dear.stop();
    }
  });
});
