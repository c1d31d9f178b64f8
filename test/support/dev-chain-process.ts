/** Starts the development chain, prints its address, and waits to be killed. */
import { startDevChain } from '../../gateway/dev/chain.js';
import { memoryLog } from './log.js';

const [dataDir = ''] = process.argv.slice(2);
const chain = await startDevChain({ dataDir, blockTimeSeconds: 0.2, log: memoryLog() });
process.stdout.write(`${chain.rpcUrl}\n`);
setInterval(() => undefined, 1000);
