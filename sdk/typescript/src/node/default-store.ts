import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { FileStore } from './file-store.js';

/**
 * Where payments are remembered unless the caller says otherwise: `SEARCH402_STORE`, the file of
 * earlier versions where there is one, else the platform's place for a user's state.
 */
export function defaultStorePath(env: Readonly<Record<string, string | undefined>>): string {
  if (env.SEARCH402_STORE !== undefined && env.SEARCH402_STORE !== '') return env.SEARCH402_STORE;
  const home = homedir();
  const earlier = join(home, '.search402', 'payments.jsonl');
  if (existsSync(earlier)) return earlier;
  return join(stateDirectory(env, home), 'search402', 'payments');
}

function stateDirectory(env: Readonly<Record<string, string | undefined>>, home: string): string {
  switch (process.platform) {
    case 'win32':
      return env.LOCALAPPDATA ?? join(home, 'AppData', 'Local');
    case 'darwin':
      return join(home, 'Library', 'Application Support');
    default:
      // XDG Base Directory Specification 0.8; relative paths are to be ignored.
      return env.XDG_STATE_HOME?.startsWith('/') === true
        ? env.XDG_STATE_HOME
        : join(home, '.local', 'state');
  }
}

const opened = new Map<string, FileStore>();

/**
 * One store for all clients of this process.
 * @public the client imports it by its address
 */
export function openDefaultStore(): FileStore {
  const path = defaultStorePath(process.env);
  const store = opened.get(path) ?? new FileStore(path);
  opened.set(path, store);
  return store;
}
