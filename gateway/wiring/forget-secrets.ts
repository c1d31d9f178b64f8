import { forgetSessions } from '../customers/people/prune.js';
import { forgetPackKeys } from '../customers/packs/packs.js';
import { forgetOauthSecrets } from '../edge/oauth/secrets.js';
import type { Store } from '../ground/store/store.js';

/** Deletes what is sealed in the database, and the sessions: the next start draws new secrets. */
export async function forgetSecrets(store: Store): Promise<void> {
  await forgetSessions(store);
  await forgetOauthSecrets(store);
  await forgetPackKeys(store);
}
