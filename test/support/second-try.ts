/**
 * On shared build machines, where a process may stand still for seconds, a test that fails is tried
 * once more, and the log keeps what failed at first. Never where chance is what is tested: the
 * books, the store, the simulated worlds, kills and storms must hold at every try. Nothing is tried
 * again outside of continuous integration (`CI`).
 */
import { expect, jest } from '@jest/globals';

const AT_ONCE = /[/\\]test[/\\](ledger|store|sim|kills|storm)[/\\]/;

if (process.env.CI === 'true' && !AT_ONCE.test(expect.getState().testPath ?? '')) {
  jest.retryTimes(1, { logErrorsBeforeRetry: true });
}
