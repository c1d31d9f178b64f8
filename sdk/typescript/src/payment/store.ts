import type { PaymentRecord } from './record.js';
import { RecordIndex } from './index-of-records.js';
import type { PaymentStore, StoreView } from './store-view.js';

/** Keeps payments while the process lives: caps and open payments end with it. */
export class MemoryStore implements PaymentStore {
  readonly #index = new RecordIndex();

  update(
    change: (view: StoreView) => PaymentRecord | undefined,
  ): Promise<PaymentRecord | undefined> {
    return attempt(() => {
      const put = change(this.#index);
      if (put) this.#index.put(put);
      return put;
    });
  }

  read<T>(look: (view: StoreView) => T): Promise<T> {
    return attempt(() => look(this.#index));
  }

  list(): Promise<readonly PaymentRecord[]> {
    return Promise.resolve(this.#index.values());
  }
}

/** What `work` returns or throws, as a promise; it runs at once. */
function attempt<T>(work: () => T): Promise<T> {
  return new Promise((resolve) => resolve(work()));
}
