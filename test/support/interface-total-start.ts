import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Before the first test (`jest.config.js`): where the tests write down what they saw. */
export default function start(): void {
  process.env.INTERFACE_SEEN_FILE = join(mkdtempSync(join(tmpdir(), 'search402-seen-')), 'seen');
}
