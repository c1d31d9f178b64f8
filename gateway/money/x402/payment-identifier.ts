import { z } from 'zod';

/** The x402 extension by which a client names a payment, so that a repeat is recognised. */
export const PAYMENT_IDENTIFIER = 'payment-identifier';

/** 16 to 128 characters of `[A-Za-z0-9_-]` (x402 extension `payment-identifier`). */
const paymentIdentifierSchema = z.string().regex(/^[A-Za-z0-9_-]{16,128}$/);

/** What the challenge says: an identifier is welcome, none is needed. */
export function paymentIdentifierDeclaration(): Record<string, unknown> {
  return {
    info: { required: false },
    schema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: {
        required: { type: 'boolean' },
        id: { type: 'string', minLength: 16, maxLength: 128, pattern: '^[a-zA-Z0-9_-]+$' },
      },
      required: ['required'],
    },
  };
}

/** What a payment says under `extensions`; clients without the extension echo it with no id. */
export const extensionsSchema = z.object({
  [PAYMENT_IDENTIFIER]: z
    .object({ info: z.object({ id: paymentIdentifierSchema.optional() }) })
    .optional(),
});
