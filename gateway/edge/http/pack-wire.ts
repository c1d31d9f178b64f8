/** What buyers of packs say, and what they are answered. The OpenAPI document shows these schemas. */
import { z } from 'zod';

const count = () => z.int().min(0);

/** The body of `POST /packs`. */
export const packRequestSchema = z.strictObject({
  searches: z.int('must be a whole number').min(1, 'must be at least 1').optional(),
});

/** `POST /packs`, 200. */
export const packSchema = z.strictObject({
  requestId: z.string(),
  key: z.string().regex(/^s402_live_[0-9A-Za-z]{33}$/),
  pack: z.strictObject({
    id: z.string(),
    searches: z.int().min(1),
    amountUsd: z.string(),
    expiresAt: z.iso.datetime(),
  }),
});

/** `DELETE /packs/{id}`, 200. */
export const revokedPackSchema = z.strictObject({ id: z.string(), state: z.literal('revoked') });

/** `GET /packs`, 200. */
export const packListSchema = z.strictObject({
  packs: z
    .array(
      z.strictObject({
        id: z.string(),
        key: z.string(),
        state: z.enum(['live', 'revoked', 'expired']),
        searches: count(),
        left: count(),
        amountUsd: z.string(),
        boughtAt: z.iso.datetime(),
        expiresAt: z.iso.datetime(),
        lastUsedAt: z.iso.datetime().nullable(),
      }),
    )
    .readonly(),
});
