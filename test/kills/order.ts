import type { CrashPoint } from '../../gateway/money/ledger/checkpoint.js';

/** An order to die: at which point, and at which passing of it, 1 for the next. */
export interface Order {
  readonly point: CrashPoint;
  readonly passing: number;
}

/** The setting with an order, as JSON, that is in force from the start on. */
export const ORDER_SETTING = 'KILL_ORDER';
