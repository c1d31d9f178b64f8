import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Migration } from '../../gateway/ground/store/migrations.js';
import { openStore } from '../../gateway/ground/store/open.js';
import type { Store } from '../../gateway/ground/store/store.js';
import { realClock, realRandom } from './ports.js';

/** Opens a store at `location`, or in a file of its own that `discard` removes again. */
export async function temporaryStore(
  migrations: readonly Migration[],
  location?: string,
): Promise<{ store: Store; location: string; discard(): Promise<void> }> {
  const directory = mkdtempSync(join(tmpdir(), 'store-'));
  const place = location ?? join(directory, 'test.db');
  const store = await openStore(
    { location: place, migrations, exclusive: true },
    {
      clock: realClock,
      random: realRandom,
      onFailed: (error) => {
        throw error;
      },
    },
  );
  const discard = async () => {
    await store.close();
    rmSync(directory, { recursive: true, force: true });
  };
  return { store, location: place, discard };
}
