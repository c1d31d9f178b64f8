import { openDirectory } from '../disk/filesystem.js';
import type { Directory } from '../disk/directory.js';
import { COMMIT_FILE } from './commit.js';
import { occurrences } from './postings/layout.js';
import { Snapshot } from './snapshot.js';

interface CheckReport {
  readonly ok: boolean;
  /** Searchable pages. */
  readonly pages: number;
  readonly segments: number;
  readonly generation: number;
  /** What is wrong, in sentences; empty when all is well. */
  readonly problems: readonly string[];
}

/** Verifies an index: every checksum, then every posting, position and stored page. */
export function checkIndex(indexDir: string): Promise<CheckReport> {
  return Promise.resolve(check(openDirectory(indexDir)));
}

export function check(directory: Directory): CheckReport {
  const problems: string[] = [];
  if (!directory.exists(COMMIT_FILE)) problems.push('no index: nothing has been committed yet');
  let snapshot: Snapshot;
  try {
    snapshot = Snapshot.open(directory);
  } catch (error) {
    problems.push(messageOf(error));
    return { ok: false, pages: 0, segments: 0, generation: 0, problems };
  }
  for (const { segment } of snapshot.leaves) {
    try {
      segment.verify();
      problems.push(...checkTerms(segment), ...checkPages(segment));
    } catch (error) {
      problems.push(messageOf(error));
    }
  }
  const { pages, leaves, commit } = snapshot;
  snapshot.close();
  const ok = problems.length === 0;
  return { ok, pages, segments: leaves.length, generation: commit.generation, problems };
}

type Segment = Snapshot['leaves'][number]['segment'];

/** Walks every list: documents and positions must ascend and be as many as their counts say. */
function checkTerms(segment: Segment): string[] {
  const { name, documents, dictionary } = segment.meta;
  const cursor = segment.cursor();
  const positions = segment.positions(cursor);
  let buffer: Int32Array = new Int32Array(1 << 12);
  let terms = 0;
  const walk = segment.terms.walk();
  while (walk.next()) {
    const bad = (what: string): string[] => {
      const term = Buffer.from(walk.bytes.subarray(0, walk.length)).toString();
      return [`${name}: the term ${JSON.stringify(term)} ${what}`];
    };
    terms++;
    cursor.open(walk.entry);
    positions.reset();
    let previous = -1;
    let count = 0;
    for (let block = 0; block <= cursor.blocks && cursor.load(block); block++) {
      buffer = positions.readBlock(buffer);
      let at = 0;
      for (let i = 0; i < cursor.size; i++) {
        const document = cursor.documents[i] ?? 0;
        if (document <= previous || document >= documents) return bad('has wrong documents');
        const end = at + occurrences(cursor.codes[i] ?? 0);
        if (end === at) return bad('has a posting without occurrences');
        for (at++; at < end; at++) {
          if ((buffer[at] ?? 0) <= (buffer[at - 1] ?? 0)) return bad('has wrong positions');
        }
        previous = document;
        count++;
      }
    }
    if (count !== walk.entry.documents) return bad('has a wrong number of documents');
  }
  return terms === dictionary.terms ? [] : [`${name}: terms are missing`];
}

/** Every page must be found by its URL. */
function checkPages(segment: Segment): string[] {
  for (let document = 0; document < segment.meta.documents; document++) {
    const { url } = segment.page(document);
    if (segment.find(url) < 0) return [`${segment.meta.name}: ${url} is not found by its URL`];
  }
  return [];
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
