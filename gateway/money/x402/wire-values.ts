import { z } from 'zod';
import { parseAddress, parseBytes32, parseUint256, type Hex } from '../../ground/domain/units.js';

/** Values as the payment headers spell them, parsed into the types that carry the promise. */
export const uint256 = z.string().transform((text, context) => parsed(parseUint256(text), context));
export const account = z.string().transform((text, context) => parsed(parseAddress(text), context));
export const hash = z.string().transform((text, context) => parsed(parseBytes32(text), context));
/** Lower-case hex, at least one byte. */
export const hex = z
  .string()
  .regex(/^0x(?:[0-9a-fA-F]{2})+$/)
  .transform((text) => text.toLowerCase() as Hex);

function parsed<Value>(value: Value | undefined, context: z.RefinementCtx): Value {
  if (value !== undefined) return value;
  context.addIssue({ code: 'custom' });
  return z.NEVER;
}
