import { skipSpace } from './boundaries.js';
import type { Layout, Range } from './layout.js';

/** A gap of this length between two passages is filled before anything else is added. */
const GAP_LENGTH_MAX = 300;

/** A passage that may still become longer. */
interface Growing {
  start: number;
  end: number;
}

/**
 * Uses the room that is left: closes small gaps, then adds to the passages in turns what follows
 * them, and every other turn what stands before them. Passages that meet become one.
 * @param passages in the text's order, without overlap
 * @param joiner the length of what stands between two passages
 */
export function growPassages(
  layout: Layout,
  passages: readonly Range[],
  lengthMax: number,
  joiner: number,
): Range[] {
  let growing: Growing[] = merged(layout.text, passages);
  const length = (): number =>
    growing.reduce((sum, { start, end }) => sum + end - start, joiner * (growing.length - 1));
  closeGaps(growing, lengthMax - length());
  growing = merged(layout.text, growing);
  let room = lengthMax - length();
  for (let [turn, idle] = [0, 0]; idle < 2; turn++) {
    let hasGrown = false;
    for (const [i, passage] of growing.entries()) {
      const limits = { start: growing[i - 1]?.end ?? 0, end: growing[i + 1]?.start ?? Infinity };
      const used = turn % 2 === 0 ? 0 : prepend(layout, passage, limits.start, room);
      const added = used + append(layout, passage, limits.end, room - used);
      room -= added;
      if (added > 0) hasGrown = true;
    }
    growing = merged(layout.text, growing);
    room = lengthMax - length();
    idle = hasGrown ? 0 : idle + 1;
  }
  return growing;
}

function append(layout: Layout, passage: Growing, limit: number, room: number): number {
  const next = layout.after(passage.end, Math.min(limit, layout.text.length), room);
  if (!next || next.end - passage.end > room) return 0;
  const added = next.end - passage.end;
  passage.end = next.end;
  return added;
}

function prepend(layout: Layout, passage: Growing, limit: number, room: number): number {
  const previous = layout.before(passage.start, limit);
  if (!previous || passage.start - previous.start > room) return 0;
  const added = passage.start - previous.start;
  passage.start = previous.start;
  return added;
}

/** Closes the gaps that fit, the smallest first. */
function closeGaps(passages: Growing[], room: number): void {
  const gaps = passages
    .slice(1)
    .map(({ start }, i) => ({ i, length: start - (passages[i]?.end ?? start) }))
    .filter(({ length }) => length <= GAP_LENGTH_MAX)
    .sort((a, b) => a.length - b.length);
  let left = room;
  for (const { i, length } of gaps) {
    const [passage, next] = [passages[i], passages[i + 1]];
    if (length > left || !passage || !next) continue;
    passage.end = next.start;
    left -= length;
  }
}

/** Joins passages with nothing but white space between them. */
function merged(text: string, passages: readonly Range[]): Growing[] {
  const joined: Growing[] = [];
  for (const { start, end } of passages) {
    const last = joined.at(-1);
    if (last && skipSpace(text, last.end) >= start) last.end = end;
    else joined.push({ start, end });
  }
  return joined;
}
