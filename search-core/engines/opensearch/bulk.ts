/** UTF-16 code units in one `_bulk` call, and calls that may be under way. */
const LENGTH_MAX = 4_000_000;
const CALLS_MAX = 2;

/** One change of a document: its lines of a `_bulk` call. */
export interface BulkChange {
  readonly id: string;
  readonly lines: string;
}

/** A call that was not full yet, or is under way. */
interface Batch {
  readonly ids: Set<string>;
  readonly lines: string[];
  length: number;
}

const emptyBatch = (): Batch => ({ ids: new Set(), lines: [], length: 0 });

/**
 * Gathers changes into large calls, and makes the next one while OpenSearch works on the last. Two
 * changes of one document are never under way in different calls, so the later one wins.
 */
export class BulkSender {
  private batch = emptyBatch();
  private readonly underWay = new Map<Batch, Promise<void>>();
  private failure: { readonly error: unknown } | undefined;

  /** @param send sends the lines of one call, and rejects unless every change was taken */
  constructor(private readonly send: (lines: string) => Promise<void>) {}

  /** Resolves when there is room for the next one. @throws what a call before failed with */
  async add({ id, lines }: BulkChange): Promise<void> {
    if (this.batch.length + lines.length > LENGTH_MAX) await this.start();
    for (const [batch, sent] of this.underWay) if (batch.ids.has(id)) await sent;
    this.fail();
    this.batch.ids.add(id);
    this.batch.lines.push(lines);
    this.batch.length += lines.length;
  }

  /** Resolves when everything was taken. */
  async finish(): Promise<void> {
    await this.start();
    await Promise.all(this.underWay.values());
    this.fail();
  }

  private async start(): Promise<void> {
    while (this.underWay.size >= CALLS_MAX) await Promise.race(this.underWay.values());
    const { batch } = this;
    if (batch.lines.length === 0) return;
    this.batch = emptyBatch();
    const sent = this.send(`${batch.lines.join('\n')}\n`)
      .catch((error: unknown) => {
        this.failure ??= { error };
      })
      .finally(() => this.underWay.delete(batch));
    this.underWay.set(batch, sent);
  }

  private fail(): void {
    if (this.failure) throw this.failure.error;
  }
}
