/**
 * The order of the test files (`jest.config.js`): those that take longest first, so that no core waits
 * at the end for one that began last. Jest would order by the times of the run before, which a fresh
 * clone has not.
 */
import { statSync } from 'node:fs';

/** What takes more than about 15 s on an idle machine, the longest first. */
const LONGEST = [
  'sim/sim',
  'kills/kills',
  'wiring/processes',
  'wiring/start',
  'storm/storm',
  'sdk/package',
  'commands/pay',
  'edge/console/browser',
  'edge/http/upstream',
  'search-core/ingest/resume',
  'search-core/ingest/cli',
  'edge/http/documented-replies',
  'customers/accounts/admin',
  'money/settlement/heads',
  'sdk/real-gateway',
  'search/facilitator',
  'docs/reference',
  'faults/rpc-service',
] as const;

interface TestFile {
  readonly path: string;
}

function rank(path: string): number {
  const position = LONGEST.findIndex((name) => path.endsWith(`/test/${name}.test.js`));
  return position < 0 ? LONGEST.length : position;
}

const sizes = new Map<string, number>();
function sizeOf(path: string): number {
  const known = sizes.get(path) ?? statSync(path).size;
  sizes.set(path, known);
  return known;
}

/** What Jest asks of a sequencer. */
export default class LongestFirst {
  sort<File extends TestFile>(tests: Iterable<File>): File[] {
    return [...tests].sort(
      (a, b) => rank(a.path) - rank(b.path) || sizeOf(b.path) - sizeOf(a.path),
    );
  }

  allFailedTests<File>(tests: Iterable<File>): File[] {
    return [...tests];
  }

  /** Nothing is kept: the order is always the same. */
  cacheResults(): void {
    sizes.clear();
  }
}
