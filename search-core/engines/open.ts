import { openDirectory } from '../disk/filesystem.js';
import { EmbeddedEngine } from './embedded.js';
import type { Engine } from './port.js';

/** Opens the engine over an index directory. */
export function openEngine({ indexDir }: { readonly indexDir: string }): Promise<Engine> {
  return Promise.resolve(new EmbeddedEngine(openDirectory(indexDir), () => performance.now()));
}
