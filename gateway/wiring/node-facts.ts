import type { SearchNodeFacts } from '../edge/console/parts.js';
import type { SearchNode } from '../ground/processes/search-nodes.js';

/** What the operator's page says of the search-cores. */
export function nodeFacts(nodes: readonly SearchNode[]): readonly SearchNodeFacts[] {
  const states = nodes.map((node) => ({ name: node.name, ...node.state() }));
  const ahead = Math.max(0, ...states.map(({ index }) => index.generation ?? 0));
  return states.map(({ name, ready, detail, index }) => {
    const { details, pages, generation } = index;
    const problem = detail ?? index.problem;
    return {
      name,
      isReady: ready,
      ...(problem !== undefined && { problem }),
      ...(details !== undefined && { details }),
      ...(pages !== undefined && { pages }),
      ...(generation !== undefined && { generation, behind: ahead - generation }),
    };
  });
}
