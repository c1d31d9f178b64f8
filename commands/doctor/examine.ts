import { readConfig, type Config } from '../../gateway/wiring/config.js';
import { ConfigError } from '../../gateway/ground/setting-kinds.js';
import { lookAtEndpoints } from './endpoints.js';
import { bad, type Finding, guarded } from './finding.js';
import { lookAtFolder, lookAtIndex, lookAtKeyFiles, lookAtPorts } from './machine.js';
import { lookAtContracts, lookAtPrice, lookAtRelayers, transferCost } from './money.js';
import { lookAtDatabase, lookAtMail, lookAtPublicUrl } from './services.js';

/** Looks at everything that the settings name; changes nothing, and never throws. */
export async function examine(environment: NodeJS.ProcessEnv): Promise<readonly Finding[]> {
  let config: Config;
  try {
    config = readConfig(environment, []);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map((problem) =>
      bad('settings', problem, 'See .env.example for what each setting may be.'),
    );
  }
  const all = await Promise.all([
    guarded('rpc', () => lookAtChain(config)),
    guarded('database', () => lookAtDatabase(config)),
    guarded('index', async () => [await lookAtIndex(config)]),
    guarded('disk', () => lookAtFolder(config)),
    guarded('permissions', () => lookAtKeyFiles(config)),
    guarded('ports', () => lookAtPorts(config)),
    guarded('smtp', async () => [await lookAtMail(config)]),
    guarded('public', () => lookAtPublicUrl(config)),
  ]);
  return all.flat();
}

/** Nothing on a development start: its chain is made when it starts. */
async function lookAtChain(config: Config): Promise<readonly Finding[]> {
  if (config.chain.kind !== 'mainnet') return [];
  const { findings, seen } = await lookAtEndpoints(config.chain.rpcUrls, () => Date.now());
  const [first] = seen;
  if (!first) return findings;
  const contracts = await lookAtContracts(first);
  if (contracts.some(({ state }) => state === 'bad')) return [...findings, ...contracts];
  const cost = await transferCost(first);
  return [
    ...findings,
    ...contracts,
    ...(await lookAtRelayers(config, first, cost)),
    lookAtPrice(config, cost),
  ];
}
