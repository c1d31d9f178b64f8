import type { SearchRequest } from '../contract.js';
import type { Change, SearchLimits } from '../engine.js';
import type { SegmentMeta } from '../index/files.js';
import type { SnapshotHandle } from '../index/snapshot.js';

/** What the threads of the embedded engine say to each other. Every ask has one answer. */
export type SearchThreadAsk =
  | { readonly kind: 'snapshot'; readonly handle: SnapshotHandle }
  | { readonly kind: 'search'; readonly request: SearchRequest; readonly limits: SearchLimits };

export type WriterThreadAsk =
  { readonly kind: 'apply'; readonly changes: readonly Change[] } | { readonly kind: 'commit' };

export interface Ask<T> {
  readonly id: number;
  readonly body: T;
}

export type Answer<T> =
  | { readonly id: number; readonly value: T; readonly error?: never }
  | { readonly id: number; readonly value?: never; readonly error: string };

/** The task of a merge thread; it answers with the merged segment's SegmentMeta. */
export interface MergeTask {
  readonly indexDir: string;
  readonly name: string;
  readonly inputs: readonly { readonly meta: SegmentMeta; readonly deleted: Uint8Array }[];
}
