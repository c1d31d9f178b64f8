/** The operations on the service itself: open to anyone. */
import { errorReplies, headers } from './openapi-replies.js';
import type { Json } from './openapi-schemas.js';

/** Anyone may ask, and nothing is counted. */
function openOperation(operation: Json & { readonly responses: Json }): Json {
  const responses = { ...operation.responses, ...errorReplies(['malformed_request']) };
  return { ...operation, tags: ['service'], security: [], responses };
}

const stateOf = (...names: string[]): Json => ({
  'application/json': {
    schema: {
      type: 'object',
      properties: { status: { enum: names } },
      required: ['status'],
      additionalProperties: false,
    },
  },
});

export function documentOperation(): Json {
  return openOperation({
    operationId: 'readOpenApi',
    summary: 'This document',
    responses: {
      '200': {
        description: 'OpenAPI 3.1.',
        headers: headers(),
        content: { 'application/json': { schema: { type: 'object' } } },
      },
    },
  });
}

export function liveOperation(): Json {
  return openOperation({
    operationId: 'readLiveness',
    summary: 'Whether the process runs',
    responses: {
      '200': { description: 'It runs.', headers: headers(), content: stateOf('live') },
    },
  });
}

export function readyOperation(): Json {
  return openOperation({
    operationId: 'readReadiness',
    summary: 'Whether searches with a key can be answered now',
    responses: {
      '200': { description: 'They can.', headers: headers(), content: readiness('ready') },
      '503': { description: 'Not now.', headers: headers(), content: readiness('not ready') },
    },
  });
}

export function readyForPaymentsOperation(): Json {
  return openOperation({
    operationId: 'readReadinessForPayments',
    summary: 'Whether searches can be paid for now',
    responses: {
      '200': { description: 'They can.', headers: headers(), content: stateOf('ready') },
      '503': { description: 'Not now.', headers: headers(), content: stateOf('not ready') },
    },
  });
}

/** For keys, with what holds for payments beside it. */
const readiness = (keys: string): Json => ({
  'application/json': {
    schema: {
      type: 'object',
      properties: {
        status: { enum: [keys] },
        payments: { enum: keys === 'ready' ? ['ready', 'not ready'] : ['not ready'] },
      },
      required: ['status', 'payments'],
      additionalProperties: false,
    },
  },
});
