import type { CrashPoint } from '../../gateway/money/ledger/checkpoint.js';

/** Every named point, in the order in which a payment passes them. */
export const CRASH_POINTS = [
  'after-reserve',
  'after-serve',
  'after-sign',
  'after-sign-commit',
  'after-broadcast',
  'after-receipt',
  'after-settle-commit',
] as const satisfies readonly CrashPoint[];

/** An order to die: at which point, and at which passing of it, 1 for the next. */
export interface Order {
  readonly point: CrashPoint;
  readonly passing: number;
}

/** The setting with an order, as JSON, that is in force from the start on. */
export const ORDER_SETTING = 'KILL_ORDER';
