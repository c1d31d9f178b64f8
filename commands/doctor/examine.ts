import { readConfig, type Config } from '../../gateway/wiring/config.js';
import { ConfigError } from '../../gateway/ground/setting-kinds.js';
import { lookAtEndpoints } from './endpoints.js';
import { bad, type Finding, guarded } from './finding.js';
import { lookAtFiles, lookAtFolder, lookAtKeyFiles } from './files.js';
import { lookAtMail } from './mail.js';
import { lookAtContracts, lookAtPrice, lookAtRelayers, transferCost } from './money.js';
import { lookAtPorts } from './ports.js';
import { lookAtPublicUrl } from './public-address.js';
import { lookAtIndex } from './search-index.js';
import { lookAtDatabase } from './services.js';

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
  const { DATABASE_URL, searchCoreUrls } = config;
  const database = () => guarded('database', () => lookAtDatabase(config));
  const index = () => guarded('index', () => lookAtIndex(config));
  const remote = await Promise.all([
    guarded('rpc', () => lookAtChain(config)),
    ...(DATABASE_URL === undefined ? [] : [database()]),
    ...(searchCoreUrls.length === 0 ? [] : [index()]),
    guarded('ports', () => lookAtPorts(config)),
    guarded('smtp', async () => [await lookAtMail(config)]),
    guarded('public', () => lookAtPublicUrl(config)),
  ]);
  // Reading files holds this process up, which would look like others that answer late.
  const local = [
    ...(await guarded('disk', () => lookAtFolder(config))),
    ...(await guarded('permissions', () => lookAtFiles(config))),
    ...(await guarded('permissions', () => lookAtKeyFiles(config))),
    ...(DATABASE_URL === undefined ? await database() : []),
    ...(searchCoreUrls.length === 0 ? await index() : []),
  ];
  return [...remote.flat(), ...local];
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
