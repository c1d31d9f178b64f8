import { join } from 'node:path';
import { seedDevAccount } from '../customers/accounts/accounts.js';
import type { Clock, Random } from '../ground/domain/ports.js';
import type { Store } from '../ground/store/store.js';
import { DEV_WARNING, readDevFacts, writeDevFacts, type DevFacts } from './facts.js';

/** Makes the sample account and writes down what scripts need to know of this start. */
export async function publishDevFacts(
  dataDir: string,
  parts: {
    store: Store;
    chain: Pick<
      DevFacts,
      'rpcUrl' | 'chainId' | 'asset' | 'payTo' | 'payerAddress' | 'payerPrivateKey'
    >;
    gatewayUrl: string;
    apiUrl: string;
    clock: Clock;
    random: Random;
  },
): Promise<DevFacts> {
  const { store, clock, random, gatewayUrl, apiUrl } = parts;
  const file = join(dataDir, 'dev.json');
  const remembered = (await readDevFacts(file))?.apiKey;
  const apiKey = await seedDevAccount(store, {
    clock,
    random,
    ...(remembered !== undefined && { remembered }),
  });
  const { rpcUrl, chainId, asset, payTo, payerAddress, payerPrivateKey } = parts.chain;
  const facts: DevFacts = {
    warning: DEV_WARNING,
    gatewayUrl,
    apiUrl,
    rpcUrl,
    chainId,
    asset,
    payTo,
    payerAddress,
    payerPrivateKey,
    apiKey,
  };
  await writeDevFacts(file, facts);
  return facts;
}
