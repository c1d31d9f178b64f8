import type { Logger } from '../log.js';
import { MemoryStore } from './store.js';
import type { PaymentStore } from './store-view.js';

/** Relative to this file; a text, so that bundlers for browsers do not look for it. */
const NODE_STORE = ['..', 'node', 'default-store.js'].join('/');

/**
 * The user's own file where there are files (Node, Bun, Deno), so that caps and open payments
 * survive a restart; memory in browsers, and, with a warning, in a bundle that lacks the file
 * store: give one from `search402/node` there.
 */
export function createDefaultStore(log: Logger): PaymentStore {
  const { process } = globalThis as { process?: { versions?: { node?: string } } };
  if (process?.versions?.node === undefined) return new MemoryStore();
  let store: Promise<PaymentStore> | undefined;
  const open = () => (store ??= load(log));
  return {
    update: async (change) => (await open()).update(change),
    read: async (look) => (await open()).read(look),
    list: async () => (await open()).list(),
  };
}

async function load(log: Logger): Promise<PaymentStore> {
  try {
    const loaded = (await import(/* @vite-ignore */ /* webpackIgnore: true */ NODE_STORE)) as {
      openDefaultStore(): PaymentStore;
    };
    return loaded.openDefaultStore();
  } catch (error) {
    log.warn('payments are kept in memory only: give payment.store a FileStore', { error });
    return new MemoryStore();
  }
}
