/**
 * The order of the test files (`jest.config.js`): those that take longest first, so that no core waits
 * at the end for one that began last. Jest would order by the times of the run before, which a fresh
 * clone has not.
 */
import { statSync } from 'node:fs';

/** What takes more than about 12 s on an idle machine, the longest first. */
const LONGEST = [
  'attacks/attacks',
  'money/settlement/one-key',
  'sim/sim',
  'kills/kills',
  'money/settlement/gas-money',
  'attacks/gas-griefing',
  'wiring/processes',
  'money/settlement/two-gateways',
  'wiring/start',
  'customers/people/people',
  'edge/http/documented-replies',
  'money/settlement/gas-griefing',
  'edge/console/browser',
  'sdk/real-gateway',
  'money/settlement/facilitator',
  'edge/http/upstream',
  'money/settlement/failures',
  'wiring/safe-start',
  'edge/mcp/console',
  'customers/limits/shared',
  'wiring/start-errors',
  'money/settlement/heads',
  'faults/rpc-service',
  'edge/console/top-up',
  'docs/reference',
  'storm/storm',
  'commands/pay',
  'customers/accounts/admin',
  'money/payment/service',
  'search-core/ingest/resume',
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
