import type { RequestHandler } from 'express';
import { refuse } from '../../ground/domain/refusal.js';
import { sendRefusal } from '../http/error-reply.js';
import { requestIdOf } from '../http/request-id.js';

/** Answers every other method of a path, and names the one that it has. */
export function methodNotAllowed(allow: 'GET' | 'POST'): RequestHandler {
  const refusal = refuse('method_not_allowed', `Use ${allow} for this path.`);
  return (_request, response) => {
    response.setHeader('Allow', allow === 'GET' ? 'GET, HEAD' : allow);
    sendRefusal(response, refusal, requestIdOf(response));
  };
}
