import type { Clock, Log } from '../domain/ports.js';
import type { PartHealth } from '../observe/health.js';
import { startLookout } from '../observe/lookout.js';
import { type IndexFacts, lookAtSearchCore } from './look-at-search-core.js';

/** One search-core, as this gateway sees it. */
export interface SearchNode {
  /** `http(s)://host:port` or `unix:/path`. */
  readonly url: string;
  /** Host and port, or the socket's path: for logs, metrics and people. */
  readonly name: string;
  state(): NodeState;
  /**
   * A search has just failed here: it gets no other one until a look finds it well. The only node
   * there is stays, since nobody else could answer.
   */
  leaveOut(fault: string): void;
}

/** What the last look found, and what search-core said of its index when it last said something. */
export interface NodeState extends PartHealth {
  readonly index: IndexFacts;
}

/** The search-cores among which searches are spread. */
export interface SearchNodes {
  readonly nodes: readonly SearchNode[];
  /** Ready while one node is; `detail` names those that are not. */
  health(): PartHealth;
  stop(): Promise<void>;
}

const LOOK_EVERY_MS = 1_000;
const LOOK_DEADLINE_MS = 2_000;

/**
 * Looks at every node each second. One that is lost, frozen, or stands on an index that it cannot
 * search is left out within three seconds, and comes back with the first good look.
 * Resolves when each was looked at once.
 */
export async function watchNodes(
  urls: readonly string[],
  ports: { readonly clock: Clock; readonly log: Log },
): Promise<SearchNodes> {
  const watched = urls.map((url) => watchNode(url, { ...ports, isOnlyOne: urls.length === 1 }));
  await Promise.all(watched.map(({ looked }) => looked));
  const nodes = watched.map(({ node }) => node);
  return {
    nodes,
    health: () => healthOf(nodes),
    stop: async () => {
      await Promise.all(watched.map(({ stop }) => stop()));
    },
  };
}

function watchNode(
  url: string,
  { clock, log, isOnlyOne }: { clock: Clock; log: Log; isOnlyOne: boolean },
) {
  const name = nameOf(url);
  let index: IndexFacts = {};
  const lookout = startLookout({
    name: isOnlyOne ? 'search-core' : `search-core at ${name}`,
    look: async (signal) => {
      index = await lookAtSearchCore(url, signal);
    },
    everyMs: LOOK_EVERY_MS,
    deadlineMs: LOOK_DEADLINE_MS,
    clock,
    log,
  });
  const node: SearchNode = {
    url,
    name,
    state: () => ({ ...lookout.health(), index }),
    leaveOut: (fault) => {
      if (!isOnlyOne) lookout.suspect(`a search failed there (${fault})`);
    },
  };
  return { node, looked: lookout.looked, stop: () => lookout.stop() };
}

export function nameOf(url: string): string {
  return url.startsWith('unix:') ? url.slice('unix:'.length) : new URL(url).host;
}

function healthOf(nodes: readonly SearchNode[]): PartHealth {
  const states = nodes.map((node) => ({ name: node.name, ...node.state() }));
  const out = states.filter(({ ready }) => !ready);
  if (out.length === 0) return { ready: true };
  const [only] = states;
  if (only && states.length === 1) return { ready: false, detail: only.detail ?? 'down' };
  const named = out.map(({ name, detail }) => `${name}: ${detail ?? 'down'}`).join('; ');
  const serving = states.length - out.length;
  return { ready: serving > 0, detail: `${serving} of ${states.length} nodes serve (${named})` };
}
