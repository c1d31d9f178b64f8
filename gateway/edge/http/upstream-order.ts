/** How much more than its share of the searches in flight a node may have: a quarter. */
const LOAD_FACTOR = 1.25;

/** A node that may be asked, and how many searches it has in flight. */
export interface Candidate {
  readonly name: string;
  readonly inFlight: number;
}

/**
 * Chooses the node for a search: the same one for the same search, whichever gateway asks, while the
 * same nodes serve; another one only where that has more than its share in flight. When a node goes,
 * its searches alone go elsewhere.
 *
 * Rendezvous hashing (Thaler and Ravishankar, "Using name-based mappings to increase hit rates",
 * 1998) with bounded loads (Mirrokni, Thorup and Zadimoghaddam, "Consistent hashing with bounded
 * loads", 2018).
 */
export function chooseNode<T extends Candidate>(
  candidates: readonly T[],
  key: Buffer,
): T | undefined {
  const inFlight = candidates.reduce((sum, one) => sum + one.inFlight, 0);
  const share = Math.ceil((LOAD_FACTOR * (inFlight + 1)) / Math.max(1, candidates.length));
  const ranked = candidates
    .map((node) => ({ node, rank: hashOf(key, node.name) }))
    .sort((a, b) => b.rank - a.rank)
    .map(({ node }) => node);
  return ranked.find((node) => node.inFlight < share) ?? ranked[0];
}

/** FNV-1a over the key and the name, with the finalizer of MurmurHash3: an unsigned 32-bit number. */
function hashOf(key: Buffer, name: string): number {
  let hash = 0x811c9dc5;
  for (const byte of key) hash = Math.imul(hash ^ byte, 0x01000193);
  for (const byte of Buffer.from(name)) hash = Math.imul(hash ^ byte, 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
