import type { Checkpoint } from '../../gateway/money/ledger/checkpoint.js';
import { type Order, ORDER_SETTING } from './order.js';

const atStart = process.env[ORDER_SETTING];
let order = atStart === undefined ? null : (JSON.parse(atStart) as Order);
let passed = 0;

/** Later orders come from the parent process; null is to live on. */
process.on('message', (given: Order | null) => {
  order = given;
  passed = 0;
  process.send?.('ordered');
});

/** Ends this process by SIGKILL at the ordered passing of the ordered point, and goes no further. */
export const passCheckpoint: Checkpoint = (point) => {
  if (order?.point !== point || ++passed < order.passing) return undefined;
  process.kill(process.pid, 'SIGKILL');
  return new Promise(() => undefined);
};
