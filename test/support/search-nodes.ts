import type { SearchNode } from '../../gateway/ground/processes/search-nodes.js';

/** A node that nobody looks at, and nothing leaves out. */
export function alwaysWell(url: string): SearchNode {
  return {
    url,
    name: url,
    state: () => ({ ready: true, index: {} }),
    leaveOut: () => undefined,
  };
}
