import { randomBytes } from 'node:crypto';
import type { Directory } from '../disk/directory.js';
import type { Lock } from '../disk/lock.js';
import type { Page } from '../page.js';
import { filesOf, sweep, writeCommit } from './commit.js';
import { DeletedSet } from './deletes.js';
import { DRAFT_FILE, filesOfDraft, readDraft, writeDraft } from './draft.js';
import type { SegmentMeta } from './files.js';
import { Inverter } from './inverter.js';
import { type MergeInput, mergeSegments } from './merge.js';
import { isWasteful, nextMerge } from './merge-policy.js';
import { Segment } from './segment.js';
import { type Leaf, Snapshot } from './snapshot.js';

/** Longer texts are cut here: no single page can fill the memory. */
const PAGE_TEXT_LENGTH_MAX = 4_000_000;
/** Words in memory before they become a segment: about 16 bytes each. */
const SEGMENT_WORDS_MAX = 24_000_000;

/** Merges segments into a new one called `name`, on this thread or another. */
export type MergeRunner = (
  name: string,
  inputs: readonly MergeInput[],
) => Promise<SegmentMeta> | SegmentMeta;

/** Where nobody else can write: a directory in memory. */
const NO_LOCK: Lock = {
  assertHeld: () => undefined,
  release: () => undefined,
};

/** A segment with its deleted documents, as the next commit will list it. */
interface Listed {
  readonly meta: SegmentMeta;
  readonly deleted: DeletedSet;
}

/** Where a page is. */
interface Place {
  readonly segment: string;
  readonly document: number;
}

/**
 * Changes an index. There is one writer per directory at a time; readers are not in its way, and
 * nothing that it does is seen before `commit`.
 */
export class IndexWriter {
  private snapshot: Snapshot;
  private inverter: Inverter | undefined;
  /** Pages put since the last commit, and the segments that they filled. */
  private readonly fresh = new Map<string, Place>();
  private freshSegments: SegmentMeta[] = [];
  /** Documents deleted since the last commit, by segment. */
  private pending = new Map<string, Set<number>>();
  /** Whether the next commit drops all that is committed now. */
  private cleared = false;
  private nextSegment: number;
  private readonly mark = randomBytes(4).toString('hex');
  private merging: Promise<void> | undefined;
  /** Those of `freshSegments` that an earlier run wrote. */
  private drafted: readonly Segment[] = [];
  /** The note of the checkpoint that this writer goes on from. */
  readonly note: string | undefined;

  /** @param job goes on with the draft of this load, if there is one; any other is removed */
  constructor(
    private readonly directory: Directory,
    private readonly runMerge: MergeRunner = (name, inputs) =>
      mergeSegments(directory, name, inputs),
    private readonly lock: Lock = NO_LOCK,
    private readonly job = '',
  ) {
    this.snapshot = Snapshot.open(directory);
    const { commit } = this.snapshot;
    const draft = readDraft(directory, commit, job);
    sweep(directory, [...filesOf(commit), ...(draft ? filesOfDraft(draft) : [])]);
    this.nextSegment = draft?.nextSegment ?? commit.nextSegment;
    this.note = draft?.note;
    if (!draft) return;
    this.cleared = draft.cleared;
    this.freshSegments = [...draft.segments];
    this.drafted = draft.segments.map((meta) => Segment.open(directory, meta));
    this.pending = new Map(
      Object.entries(draft.deleted).map(([name, documents]) => [name, new Set(documents)]),
    );
  }

  /** Adds a page; one with the same URL is replaced. */
  put(page: Page): Promise<void> {
    this.delete(page.url);
    this.inverter ??= new Inverter(this.directory, this.newName());
    const { name, documents } = this.inverter;
    this.fresh.set(page.url, { segment: name, document: documents });
    const text = page.text.slice(0, PAGE_TEXT_LENGTH_MAX);
    this.inverter.add({ url: page.url, title: page.title, text });
    if (this.inverter.words >= SEGMENT_WORDS_MAX) this.flush();
    return Promise.resolve();
  }

  /** Deletes the page with this URL, if there is one. */
  delete(url: string): void {
    const place = this.find(url);
    if (!place) return;
    this.fresh.delete(url);
    const deleted = this.pending.get(place.segment) ?? new Set();
    this.pending.set(place.segment, deleted.add(place.document));
  }

  /** Deletes all pages. */
  clear(): void {
    for (const url of [...this.fresh.keys()]) this.delete(url);
    this.cleared = true;
  }

  /**
   * Makes all changes since the last commit durable without making them visible. A writer that is
   * opened for the same job goes on from the last checkpoint, and is told its note; a commit, or a
   * writer for anything else, ends that.
   */
  checkpoint(note: string): void {
    this.flush();
    const deleted = [...this.pending].map(([name, documents]) => [name, [...documents]]);
    writeDraft(this.directory, {
      format: 1,
      job: this.job,
      note,
      generation: this.generation,
      nextSegment: this.nextSegment,
      cleared: this.cleared,
      segments: this.freshSegments,
      deleted: Object.fromEntries(deleted) as Record<string, number[]>,
    });
  }

  /** Whether the index will hold this URL after the next commit. */
  has(url: string): boolean {
    return this.find(url) !== undefined;
  }

  /** Makes all changes since the last commit durable and visible, all or none. */
  commit(): Promise<void> {
    this.flush();
    const committed = this.cleared
      ? []
      : this.snapshot.leaves.map(({ segment, deleted }) => ({ meta: segment.meta, deleted }));
    const fresh = this.freshSegments.map((meta) => ({
      meta,
      deleted: DeletedSet.none(meta.documents),
    }));
    const listed = [...committed, ...fresh].map(({ meta, deleted }) => ({
      meta,
      deleted: deleted.with(this.pending.get(meta.name) ?? []),
    }));
    this.publish(listed);
    this.directory.remove(DRAFT_FILE);
    this.closeDrafted();
    this.fresh.clear();
    this.freshSegments = [];
    this.pending = new Map();
    this.cleared = false;
    return Promise.resolve();
  }

  /**
   * Merges while there are segments that should become one. Puts, deletes and commits may go on
   * meanwhile: deletes that come during a merge are carried over to the merged segment.
   */
  merge(): Promise<void> {
    this.merging ??= this.mergeAll().finally(() => {
      this.merging = undefined;
    });
    return this.merging;
  }

  /** Commits, then merges everything into one segment; few deleted pages may stay in it. */
  async compact(): Promise<void> {
    await this.merging;
    await this.commit();
    const { leaves } = this.snapshot;
    if (leaves.length > 1 || isWasteful(leaves)) await this.mergeRun(leaves);
  }

  /** Searchable pages after the last commit. */
  get pages(): number {
    return this.snapshot.pages;
  }

  get generation(): number {
    return this.snapshot.commit.generation;
  }

  /** Drops what was not committed and lets another writer in. */
  async close(): Promise<void> {
    await this.merging;
    this.snapshot.close();
    this.closeDrafted();
    this.lock.release();
  }

  private closeDrafted(): void {
    for (const segment of this.drafted) segment.close();
    this.drafted = [];
  }

  /**
   * A name that no other writer of any index uses. Readers keep a segment that they know by its name,
   * also where the folder is a copy and another index came into it.
   */
  private newName(): string {
    return `s${this.nextSegment++}-${this.mark}`;
  }

  private find(url: string): Place | undefined {
    const fresh = this.fresh.get(url);
    if (fresh) return fresh;
    const committed = this.cleared ? [] : this.snapshot.leaves;
    for (const segment of [...this.drafted, ...committed.map((leaf) => leaf.segment)]) {
      const { name } = segment.meta;
      const isGone = (document: number): boolean =>
        this.pending.get(name)?.has(document) === true ||
        committed.some((leaf) => leaf.segment === segment && leaf.deleted.has(document));
      const document = segment.find(url, isGone);
      if (document >= 0) return { segment: name, document };
    }
    return undefined;
  }

  /** Writes the pages in memory as a segment. */
  private flush(): void {
    if (!this.inverter) return;
    this.freshSegments.push(this.inverter.finish());
    this.inverter = undefined;
  }

  /** Commits these segments, and removes the files that only the commit before needed. */
  private publish(listed: readonly Listed[]): void {
    const before = this.snapshot;
    const generation = before.commit.generation + 1;
    const segments = listed
      .filter(({ meta, deleted }) => deleted.count < meta.documents)
      .map((one) => ({ meta: one.meta, deletes: this.writeDeletes(one, generation) }));
    const { nextSegment } = this;
    this.lock.assertHeld();
    writeCommit(this.directory, { format: 1, generation, nextSegment, segments });
    this.snapshot = Snapshot.open(this.directory, before);
    before.close(this.snapshot);
    const kept = new Set(filesOf(this.snapshot.commit));
    for (const name of filesOf(before.commit)) if (!kept.has(name)) this.directory.remove(name);
  }

  /** The file of a segment's deleted documents: the committed one if nothing changed. */
  private writeDeletes({ meta, deleted }: Listed, generation: number): string | null {
    if (deleted.count === 0) return null;
    const at = this.snapshot.leaves.findIndex(({ segment }) => segment.meta.name === meta.name);
    if (this.snapshot.leaves[at]?.deleted.count === deleted.count) {
      return this.snapshot.commit.segments[at]?.deletes ?? null;
    }
    const name = `${meta.name}.${generation}.deletes`;
    deleted.write(this.directory, name);
    return name;
  }

  private async mergeAll(): Promise<void> {
    for (;;) {
      const run = nextMerge(this.snapshot.leaves);
      if (run.length === 0) return;
      await this.mergeRun(run);
    }
  }

  private async mergeRun(run: readonly Leaf[]): Promise<void> {
    const merged = await this.runMerge(this.newName(), run);
    const names = new Set(run.map(({ segment }) => segment.meta.name));
    const leaves = this.snapshot.leaves.map(({ segment, deleted }) => ({
      meta: segment.meta,
      deleted,
    }));
    const first = leaves.findIndex(({ meta }) => names.has(meta.name));
    if (first < 0) return;
    // Fewer may be left than were merged: a commit drops segments whose last page was deleted.
    const others = leaves.filter(({ meta }) => !names.has(meta.name));
    others.splice(first, 0, { meta: merged, deleted: this.carryDeletes(run, merged) });
    this.publish(others);
  }

  /**
   * What was deleted from the inputs while they were merged, under the new numbers: the committed
   * deletes are returned, the pending ones stay pending.
   */
  private carryDeletes(run: readonly Leaf[], merged: SegmentMeta): DeletedSet {
    const committed: number[] = [];
    const pending = new Set<number>();
    let number = 0;
    for (const { segment, deleted } of run) {
      const { name, documents } = segment.meta;
      const now = this.snapshot.leaves.find((leaf) => leaf.segment === segment);
      const later = this.pending.get(name);
      this.pending.delete(name);
      for (let document = 0; document < documents; document++) {
        if (deleted.has(document)) continue;
        if (!now || now.deleted.has(document)) committed.push(number);
        else if (later?.has(document)) pending.add(number);
        number++;
      }
    }
    if (pending.size > 0) this.pending.set(merged.name, pending);
    return DeletedSet.none(merged.documents).with(committed);
  }
}
