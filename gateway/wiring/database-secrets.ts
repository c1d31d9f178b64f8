import { forgetSessions, resealSessions } from '../customers/people/prune.js';
import { forgetPackKeys, resealPackKeys } from '../customers/packs/sealed-keys.js';
import { forgetOauthSecrets, resealOauthSecrets } from '../edge/oauth/secrets.js';
import type { Sealing } from '../ground/store/sealing.js';
import type { Store } from '../ground/store/store.js';

/** Deletes what is sealed in the database, and the sessions: the next start draws new secrets. */
export async function forgetSecrets(store: Store): Promise<void> {
  await forgetSessions(store);
  await forgetOauthSecrets(store);
  await forgetPackKeys(store);
}

/** Seals everything in the database with the newest key: the older ones are needed no more. */
export async function resealSecrets(store: Store, sealing: Sealing): Promise<void> {
  await resealSessions(store, sealing);
  await resealOauthSecrets(store, sealing);
  await resealPackKeys(store, sealing);
}
