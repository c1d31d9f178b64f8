// npm run bench:griefing: honest payers beside wallets that pass simulations and burn gas.
import { parseArgs } from 'node:util';
import { gasGriefing } from '../dist/test/attacks/gas-griefing.js';

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '40' }, json: { type: 'boolean' } },
});
for (const wallets of ['one', 'fresh']) {
  const { row } = await gasGriefing({ seconds: Number(values.seconds), wallets });
  console.log(values.json ? JSON.stringify(row) : row);
}
process.exit(0);
