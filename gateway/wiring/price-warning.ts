import type { Log } from '../ground/domain/ports.js';
import { TRANSACTION_BYTES } from '../money/payment/relayer-funds.js';
import { createRpcChain } from '../money/settlement/rpc-chain.js';
import type { ChainAccess } from './chain-access.js';
import type { Config } from './config.js';

/** Gas of one transfer that shares no transaction, on USDC behind its proxy. */
const GAS_ALONE = 85_700n;

/**
 * Tells the operator when a payment brings in less than its transfer costs: its gas, and publishing it
 * on the layer below.
 */
export async function warnIfUnderpriced(
  config: Config,
  { chain, log }: { chain: ChainAccess; log: Log },
): Promise<void> {
  const gasPrice = BigInt((await chain.client.request('eth_gasPrice', [])) as string);
  const rpc = createRpcChain(chain.chainId, chain.client);
  const costWei = gasPrice * GAS_ALONE + (await rpc.publishingFee(TRANSACTION_BYTES));
  const costUsd = (Number(costWei) / 1e18) * config.ETH_USD;
  const priceUsd = Number(config.PRICE_USD) / 1e6;
  if (costUsd <= priceUsd) return;
  log.warn(
    { priceUsd, costUsd: Number(costUsd.toPrecision(3)), ethUsd: config.ETH_USD },
    'the price of a search does not cover the gas of a transfer that goes alone; raise PRICE_USD',
  );
}
