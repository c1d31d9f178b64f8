/** The files of a segment. `text` is read from disk when needed, the others through memory. */
export const SEGMENT_FILES = [
  'terms',
  'postings',
  'positions',
  'norms',
  'keys',
  'pages',
  'text',
] as const;

export type SegmentFile = (typeof SEGMENT_FILES)[number];

/** What the commit records of an immutable segment. */
export interface SegmentMeta {
  /** Its files are called `name.kind`. */
  readonly name: string;
  readonly documents: number;
  /** Sums of its documents' coded lengths, deleted ones included. */
  readonly bodyWords: number;
  readonly titleWords: number;
  /** The averages that its bounds were computed with. */
  readonly averageBody: number;
  readonly averageTitle: number;
  readonly dictionary: {
    readonly indexAt: number;
    readonly blocks: number;
    readonly terms: number;
  };
}

export function averages(meta: {
  readonly documents: number;
  readonly bodyWords: number;
  readonly titleWords: number;
}): { averageBody: number; averageTitle: number } {
  return {
    averageBody: Math.max(1, meta.bodyWords / Math.max(1, meta.documents)),
    averageTitle: Math.max(1, meta.titleWords / Math.max(1, meta.documents)),
  };
}
