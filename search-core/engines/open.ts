import type { Engine } from './port.js';
import { ThreadedEngine, type ThreadedEngineOptions } from './threaded.js';

/** Opens the engine that the service runs on. */
export function openEngine(options: ThreadedEngineOptions): Promise<Engine> {
  return ThreadedEngine.open(options);
}
