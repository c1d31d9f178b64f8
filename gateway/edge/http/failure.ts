import { isRefusal, refuse, type Refusal } from '../../ground/domain/refusal.js';

/** The refusal that an error carries: a database out of reach is no bug. */
export function expectedRefusal(error: unknown): Refusal | undefined {
  if (error instanceof Error && 'refusal' in error && isRefusal(error.refusal))
    return error.refusal;
  return undefined;
}

/** What a caller is told of a bug. */
export const INTERNAL_ERROR = refuse(
  'internal_error',
  'Something went wrong on our side and nothing was charged for it. Send the same request again.',
);
