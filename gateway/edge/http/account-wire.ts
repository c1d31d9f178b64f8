/**
 * What scripts say to an account with its key, and what it answers. These schemas check the
 * requests, give the replies their types, and are what the OpenAPI document shows.
 */
import { z } from 'zod';
import { PLANS, type Plan } from '../../ground/domain/plan.js';
import { USAGE_DIMENSIONS } from '../../customers/usage/report.js';

const count = () => z.int().min(0);

/** `GET /account`, 200. */
export const accountSchema = z.strictObject({
  account: z.strictObject({
    id: z.string(),
    name: z.string(),
    plan: z.enum(Object.keys(PLANS) as Plan[]),
    ratePerSecond: z.number(),
  }),
  credits: z.strictObject({ granted: count(), available: count(), held: count(), spent: count() }),
  key: z.strictObject({
    id: z.string(),
    name: z.string(),
    ratePerSecond: z.number().nullable(),
    monthlyBudget: z.number().nullable(),
    expiresAt: z.iso.datetime().nullable(),
  }),
});

/** A day or a moment in UTC (ISO 8601). */
const moment = () =>
  z.union([z.iso.date(), z.iso.datetime()], 'must be a date such as 2026-01-31, or with its time');

const oneOf = <Names extends readonly string[]>(names: Names) =>
  z.enum(names, `must be one of ${names.join(', ')}`);

/** The query of `GET /account/usage`. */
export const usageQuerySchema = z.strictObject({
  from: moment().optional(),
  to: moment().optional(),
  by: oneOf(USAGE_DIMENSIONS).default('day'),
  format: oneOf(['json', 'csv']).default('json'),
});

export const usageRowSchema = z.strictObject({
  name: z.string(),
  searches: count(),
  refused: count(),
  credits: count(),
});

/** `GET /account/usage`, 200. */
export const usageSchema = z.strictObject({
  from: z.iso.datetime(),
  to: z.iso.datetime(),
  by: z.enum(USAGE_DIMENSIONS),
  usage: z.array(usageRowSchema).readonly(),
});

/** The body of `POST /account/credits`. */
export const topUpRequestSchema = z.strictObject({
  amountUsd: z
    .string('must be a string of dollars, such as "5"')
    .regex(/^[0-9]{1,15}(?:\.[0-9]{1,6})?$/, 'must be dollars, such as "5" or "0.05"'),
});

/** `POST /account/credits`, 200. */
export const topUpSchema = z.strictObject({
  requestId: z.string(),
  credits: z.int().min(1),
  transaction: z.string(),
});
