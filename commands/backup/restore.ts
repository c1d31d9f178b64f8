import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { openDataFolder } from '../../gateway/ground/store/data-folder.js';
import { readConfig } from '../../gateway/wiring/config.js';
import { checkRules, openRestored } from './checks.js';
import { syncFolder } from './files.js';
import {
  CHAIN_FOLDER,
  INDEX_FOLDER,
  type OpenedBackup,
  SECRETS_FOLDER,
  SETTINGS_FILE,
} from './manifest.js';
import { checkReadable, DATABASE_FILE, type Part, putBooks, putInto } from './put-back.js';
import { BackupRefused } from './refused.js';

/** What was put back, and where. */
export interface Restored {
  readonly places: readonly string[];
  readonly notes: readonly string[];
}

/**
 * Puts a backup into the data folder and the database that the settings name. Both are empty, or
 * nothing happens: what is there is never replaced. The database comes last, so a restore that was
 * cut off leaves none.
 *
 * @throws BackupRefused, StartError while a gateway runs there.
 */
export async function restore(
  backup: OpenedBackup,
  environment: NodeJS.ProcessEnv,
  parts: ReadonlySet<Part>,
): Promise<Restored> {
  const { DATA_DIR, DATABASE_URL, SEALING_KEY_FILE } = readConfig(environment, []);
  await checkReadable(backup, parts);
  const folder = openDataFolder(DATA_DIR, { isShared: false });
  try {
    const moves = movesOf(backup, DATA_DIR, parts, {
      isPostgres: DATABASE_URL !== undefined,
      ownSealingKey: SEALING_KEY_FILE === undefined,
    });
    for (const { place } of moves) refuseTaken(place);
    const trial = mkdtempSync(join(DATA_DIR, '.restoring-'));
    try {
      await putInto(backup, trial, parts);
      if (parts.has('books')) {
        const store = await openRestored(join(trial, DATABASE_FILE));
        await checkRules(store).finally(() => store.close());
        if (DATABASE_URL !== undefined) await putBooks(backup, DATABASE_URL);
      }
      for (const { from, place } of moves) {
        mkdirSync(join(place, '..'), { recursive: true, mode: 0o700 });
        renameSync(join(trial, from), place);
      }
      syncFolder(DATA_DIR);
    } finally {
      rmSync(trial, { recursive: true, force: true });
    }
    const database = DATABASE_URL !== undefined && parts.has('books') ? ['the database'] : [];
    return { places: [...database, ...moves.map(({ place }) => place)], notes: notesOn(backup) };
  } finally {
    await folder.stop();
  }
}

interface Move {
  readonly from: string;
  readonly place: string;
}

/** What goes where, the database last. */
function movesOf(
  { manifest }: OpenedBackup,
  dataDir: string,
  parts: ReadonlySet<Part>,
  { isPostgres, ownSealingKey }: { isPostgres: boolean; ownSealingKey: boolean },
): readonly Move[] {
  const has = (name: string) => manifest.files.some((file) => file.name === name);
  const holds = (name: string) => manifest.files.some((file) => file.name.startsWith(`${name}/`));
  const at = (name: string) => join(dataDir, name);
  const chain = [
    { from: `${CHAIN_FOLDER}/dev.json`, place: at('dev.json') },
    { from: `${CHAIN_FOLDER}/state.json`, place: at('chain/state.json') },
  ].filter(({ from }) => has(from));
  const secrets = manifest.files.flatMap(({ name }) => {
    if (!name.startsWith(`${SECRETS_FOLDER}/`)) return [];
    const isOwnKey = name.endsWith('/sealing.key') && ownSealingKey;
    return [{ from: name, place: isOwnKey ? at('sealing.key') : at(`restored/${name}`) }];
  });
  return [
    ...(parts.has('index') && holds(INDEX_FOLDER)
      ? [{ from: INDEX_FOLDER, place: at('index') }]
      : []),
    ...(parts.has('chain') ? chain : []),
    ...(parts.has('secrets') ? secrets : []),
    ...(parts.has('settings') && has(SETTINGS_FILE)
      ? [{ from: SETTINGS_FILE, place: at(`restored/${SETTINGS_FILE}`) }]
      : []),
    ...(parts.has('books') && !isPostgres
      ? [{ from: DATABASE_FILE, place: at(DATABASE_FILE) }]
      : []),
  ];
}

/** The log beside a database belongs to it: with another one it would destroy it. */
function refuseTaken(place: string): void {
  const taken = [place, `${place}-wal`, `${place}-shm`].find((one) => existsSync(one));
  if (taken === undefined) return;
  throw new BackupRefused(
    'not-empty',
    `${taken} is there already, and nothing is replaced. Move it away, set DATA_DIR to another folder, or choose parts with --only.`,
  );
}

function notesOn({ manifest }: OpenedBackup): readonly string[] {
  const holdsKey = manifest.files.some(({ name }) => name.startsWith(`${SECRETS_FOLDER}/`));
  return holdsKey
    ? []
    : [
        'The backup holds no keys: put sealing.key back into DATA_DIR, or set SEALING_KEY_FILE. If it is lost: npm run admin -- new-secrets',
      ];
}
