// npm run mcp:conformance: the official conformance suite and inspector of the tool protocol
// against this service, with the Node that they need. Their packages stay in test/conformance.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { checkNode, ensureInstalled, root, step } from './steps.mjs';

checkNode();
await ensureInstalled();
const home = join(root, 'test/conformance');
if (!existsSync(join(home, 'node_modules'))) {
  await step('installing the suite', 'npm', ['ci', '--ignore-scripts', '--loglevel=error'], {
    cwd: home,
  });
}
process.argv.splice(2, Infinity, 'test/edge/mcp/conformance');
await import('./test.mjs');
