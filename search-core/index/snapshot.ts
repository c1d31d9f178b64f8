import type { Directory } from '../disk/directory.js';
import type { Averages } from '../rank/bm25f.js';
import { type Commit, readCommit } from './commit.js';
import { DeletedSet } from './deletes.js';
import type { SegmentMeta } from './files.js';
import { Segment, type SegmentHandle } from './segment.js';

/** A segment as one commit sees it. */
export interface Leaf {
  readonly segment: Segment;
  readonly deleted: DeletedSet;
  /** The number of its first document in the whole index. */
  readonly base: number;
}

/** What another thread needs to open the same snapshot over the same memory and files. */
export interface SnapshotHandle {
  readonly commit: Commit;
  readonly leaves: readonly LeafHandle[];
}

interface LeafHandle {
  readonly segment: SegmentHandle;
  /** Its deleted documents, a bit each. */
  readonly deleted: Uint8Array;
}

/**
 * The index at one commit. It stays as it is while it is open, whatever is committed meanwhile:
 * removed files stay readable for those who have them open.
 */
export class Snapshot {
  readonly leaves: readonly Leaf[];
  /** Documents, deleted ones included until a merge drops them: what frequencies refer to. */
  readonly documents: number;
  readonly averages: Averages;

  private constructor(
    readonly commit: Commit,
    leaves: readonly Leaf[],
  ) {
    this.leaves = leaves;
    const sum = (of: (leaf: Leaf) => number): number => leaves.reduce((all, x) => all + of(x), 0);
    this.documents = sum(({ segment }) => segment.meta.documents);
    const perDocument = (words: number): number => Math.max(1, words / Math.max(1, this.documents));
    this.averages = {
      averageBody: perDocument(sum(({ segment }) => segment.meta.bodyWords)),
      averageTitle: perDocument(sum(({ segment }) => segment.meta.titleWords)),
    };
  }

  /**
   * Opens the last commit. Segments that `previous` has open are used again, not opened twice.
   * @throws DamagedIndexError unless the whole commit is there
   */
  static open(directory: Directory, previous?: Snapshot): Snapshot {
    return Snapshot.of(readCommit(directory), previous, {
      open: (meta) => Segment.open(directory, meta),
      deleted: (meta, deletes) =>
        deletes === null ? DeletedSet.none(meta.documents) : DeletedSet.read(directory, deletes),
    });
  }

  /**
   * Opens the snapshot of another thread over its memory and files. The directory is not asked: by
   * then a writer may have removed what only that commit needed.
   */
  static attach({ commit, leaves }: SnapshotHandle, previous?: Snapshot): Snapshot {
    const byName = new Map(commit.segments.map(({ meta }, at) => [meta.name, leaves[at]]));
    const leafOf = ({ name }: SegmentMeta): LeafHandle => {
      const leaf = byName.get(name);
      if (!leaf) throw new Error(`the snapshot came without its segment ${name}`);
      return leaf;
    };
    return Snapshot.of(commit, previous, {
      open: (meta) => Segment.attach(meta, leafOf(meta).segment),
      deleted: (meta) => new DeletedSet(leafOf(meta).deleted),
    });
  }

  private static of(
    commit: Commit,
    previous: Snapshot | undefined,
    source: {
      readonly open: (meta: SegmentMeta) => Segment;
      readonly deleted: (meta: SegmentMeta, deletes: string | null) => DeletedSet;
    },
  ): Snapshot {
    const known = new Map(previous?.leaves.map(({ segment }) => [segment.meta.name, segment]));
    const opened: Segment[] = [];
    let base = 0;
    try {
      const leaves = commit.segments.map(({ meta, deletes }) => {
        let segment = known.get(meta.name);
        if (!segment) {
          segment = source.open(meta);
          opened.push(segment);
        }
        const deleted = source.deleted(meta, deletes);
        const leaf = { segment, deleted, base };
        base += meta.documents;
        return leaf;
      });
      return new Snapshot(commit, leaves);
    } catch (error) {
      for (const segment of opened) segment.close();
      throw error;
    }
  }

  /** Searchable pages. */
  get pages(): number {
    return this.leaves.reduce((sum, { deleted }) => sum - deleted.count, this.documents);
  }

  /** Whether a searchable page has this URL. */
  holds(url: string): boolean {
    return this.leaves.some(
      ({ segment, deleted }) => segment.find(url, (document) => deleted.has(document)) >= 0,
    );
  }

  get handle(): SnapshotHandle {
    const leaves = this.leaves.map(({ segment, deleted }) => ({
      segment: segment.handle,
      deleted: deleted.toBytes(),
    }));
    return { commit: this.commit, leaves };
  }

  /** The leaf that holds a document of the whole index. */
  leafOf(document: number): Leaf {
    const leaf = this.leaves.findLast(({ base }) => base <= document);
    if (!leaf) throw new RangeError(`there is no document ${document}`);
    return leaf;
  }

  /** Closes the segments that `next` does not use. */
  close(next?: Snapshot): void {
    const kept = new Set(next?.leaves.map(({ segment }) => segment));
    for (const { segment } of this.leaves) if (!kept.has(segment)) segment.close();
  }
}
