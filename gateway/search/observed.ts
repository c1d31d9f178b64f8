import type { Clock, Log } from '../ground/domain/ports.js';
import type { Metrics } from '../ground/observe/metrics.js';
import type { Search } from './pipeline.js';

/** A search that leaves a metric and a log line behind; it holds no query and no credential. */
export function observed(search: Search, metrics: Metrics, log: Log, clock: Clock): Search {
  return async (call) => {
    const started = clock.monotonicMs();
    const reply = await search(call);
    const seconds = (clock.monotonicMs() - started) / 1000;
    const outcome = reply.kind === 'results' ? 'ok' : reply.refusal.code;
    const payer = PAYERS[call.credentials.kind];
    metrics.search(payer, outcome, seconds);
    const fields = { requestId: call.requestId, face: call.face, payer, outcome, seconds };
    if (payer === 'nobody') log.debug(fields, 'search');
    else log.info(fields, 'search');
    return reply;
  };
}

const PAYERS = {
  none: 'nobody',
  bearer: 'account',
  account: 'account',
  payment: 'payment',
} as const;
