import { StoreUnavailable } from '../../gateway/ground/store/store.js';
import { realClock } from './ports.js';

const AGAIN_MS = 20;
const LIMIT_MS = 30_000;

/** What a caller does whom a busy database answers with a 503: comes again, a little later. */
export async function insist<T>(work: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + LIMIT_MS;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || Date.now() > deadline) throw error;
      await realClock.sleep(AGAIN_MS);
    }
  }
}
