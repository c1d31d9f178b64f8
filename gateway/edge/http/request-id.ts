import type { RequestHandler, Response } from 'express';
import type { Random } from '../../ground/domain/ports.js';

/** Gives every request its id, in `X-Request-Id` from the first moment on. */
export function assignRequestId(random: Random): RequestHandler {
  return (_request, response, next) => {
    const id = random.uuid();
    (response.locals as { requestId?: string }).requestId = id;
    response.setHeader('X-Request-Id', id);
    next();
  };
}

export function requestIdOf(response: Response): string {
  const { requestId } = response.locals as { requestId?: string };
  if (requestId === undefined) throw new Error('assignRequestId must run first');
  return requestId;
}
