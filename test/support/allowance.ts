import { UNBOUNDED } from '../../gateway/ground/domain/allowance.js';

/** Lets everything be asked of the chain. */
export const freeAllowance = { ...UNBOUNDED, giveBack: () => undefined };
