import { sealingWith } from '../../gateway/ground/store/sealing.js';
import { realRandom } from './ports.js';

/** Seals with a key of its own, the same in all tests of a process. */
export const testSealing = sealingWith([new Uint8Array(32).fill(7)], realRandom);
