import type { SearchRequest } from '../../../search-core/contract.js';
import { refuse, type Refusal } from '../../ground/domain/refusal.js';
import { checkAnswer, type RunContext, type SearchAnswer } from '../../search/answer.js';
import type { Exchange } from './upstream-exchange.js';

/** Why there is no answer: for the log, and for the caller. */
export interface Failed {
  readonly kind: 'failed';
  readonly fault: string;
  readonly refusal: Refusal;
  /** Whether another node may answer what this one did not. */
  readonly isNodesOwn: boolean;
}

function failed(fault: string, refusal: Refusal, isNodesOwn = true): Failed {
  return { kind: 'failed', fault, refusal, isNodesOwn };
}

const ABSENT = new Set(['ECONNREFUSED', 'ENOENT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH']);
const BROKEN = 'The search engine failed to answer. Nothing was charged; send the request again.';

/** What an exchange means for the caller. */
export function judge(
  exchange: Exchange,
  request: SearchRequest,
  { requestId }: Pick<RunContext, 'requestId'>,
): SearchAnswer | Failed {
  if (exchange.kind === 'fault') return judgeFault(exchange.code);
  if (exchange.status === 503) {
    return failed('503', refuse('service_unavailable', BUSY, { retryAfterSeconds: 1 }));
  }
  if (exchange.status !== 200) {
    const isNodesOwn = exchange.status >= 500;
    return failed(`status ${exchange.status}`, refuse('upstream_error', BROKEN), isNodesOwn);
  }
  const checked = checkAnswer(parseJson(exchange.body), request, requestId);
  if ('fault' in checked) return failed(checked.fault, refuse('upstream_error', BROKEN));
  const { body, generation } = exchange;
  const { resultCount } = checked;
  return { kind: 'answer', body, resultCount, ...(generation !== undefined && { generation }) };
}

const BUSY = 'The search engine is busy. Nothing was charged; send the request again.';
export const GONE = 'The search engine is still starting. Nothing was charged; try again shortly.';
const SLOW = 'The search took too long. Nothing was charged; send the request again.';

function judgeFault(code: string): Failed {
  if (code === 'ABORTED') return failed(code, refuse('upstream_error', BROKEN), false);
  if (code === 'TIMEOUT') return failed(code, refuse('upstream_timeout', SLOW));
  if (ABSENT.has(code)) {
    return failed(code, refuse('service_unavailable', GONE, { retryAfterSeconds: 2 }));
  }
  return failed(code, refuse('upstream_error', BROKEN));
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}
