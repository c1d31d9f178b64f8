import { createReadStream, existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Page } from '../page.js';
import { MemoryEngine } from './memory.js';
import type { Engine } from './port.js';

/** Opens the engine over an index directory. */
export async function openEngine({ indexDir }: { readonly indexDir: string }): Promise<Engine> {
  const engine = new MemoryEngine();
  const file = join(indexDir, 'pages.jsonl');
  if (!existsSync(file)) return engine;
  for await (const line of createInterface({ input: createReadStream(file) })) {
    await engine.apply([{ put: JSON.parse(line) as Page }]);
  }
  await engine.commit();
  return engine;
}
