/**
 * Whose turn it is: one exchange at a time with each host, a pause between two, and a budget for a
 * day. Hosts wait in a heap by the moment at which they may be asked next; of each only a handful of
 * addresses is in memory, the others stay in the books.
 */
import type { Known } from './address.js';
import type { Books } from './books.js';
import type { Politeness } from './sources.js';

export interface Turn {
  readonly known: Known;
  readonly hostName: string;
}

interface Host {
  readonly id: number;
  readonly name: string;
  /** Addresses that are due now, the longest due last. */
  queue: Known[];
  /** When the first address in the books is due; Infinity for none. */
  dueMs: number;
  readyMs: number;
  isBusy: boolean;
  /** Addresses that were handed out and are not in the books yet. */
  readonly out: Set<string>;
  /** When it stands in the heap: entries of other times are stale. */
  wakeMs: number;
  day: number;
  fetches: number;
}

const QUEUE = 32;
const DAY_MS = 86_400_000;

export class Turns {
  private readonly hosts = new Map<number, Host>();
  private readonly heap = new WakeHeap<Host>();

  /** @param politenessOf asked each time, so that a new file of sources counts at once */
  constructor(
    private readonly books: Books,
    private readonly politenessOf: (host: string) => Politeness,
  ) {
    this.reload();
  }

  /** Reads all hosts anew: at the start, and where many addresses became due otherwise. */
  reload(): void {
    for (const { id, name, dueSeconds } of this.books.hostsDue()) {
      this.note(id, name, dueSeconds * 1_000);
    }
  }

  /** An address of this host is due at that time. */
  note(id: number, name: string, dueMs: number): void {
    const host = this.hosts.get(id) ?? this.open(id, name);
    if (dueMs >= host.dueMs) return;
    host.dueMs = dueMs;
    this.wake(host);
  }

  /** An address whose host may be asked; else how many milliseconds to wait (Infinity: for news). */
  take(nowMs: number): Turn | { readonly waitMs: number } {
    for (;;) {
      const first = this.heap.first();
      if (!first) return { waitMs: Infinity };
      if (first.value.wakeMs !== first.atMs) {
        this.heap.removeFirst();
        continue;
      }
      if (first.atMs > nowMs) return { waitMs: first.atMs - nowMs };
      this.heap.removeFirst();
      const turn = this.takeFrom(first.value, nowMs);
      if (turn) return turn;
    }
  }

  /** The exchange is over; its host is left alone until `readyMs`. */
  finish({ known }: Turn, readyMs: number): void {
    const host = this.hosts.get(known.host);
    if (!host) return;
    host.isBusy = false;
    host.readyMs = Math.max(host.readyMs, readyMs);
    this.wake(host);
  }

  /** What was handed out is in the books now. */
  settled({ known }: Turn): void {
    const host = this.hosts.get(known.host);
    if (!host) return;
    host.out.delete(outKey(known));
    if (host.out.size === 0 && host.queue.length === 0) this.refill(host, Number.NaN);
  }

  /** Forgets what was handed out or waits in memory; the books know better. */
  forget(): void {
    this.hosts.clear();
    this.heap.clear();
    this.reload();
  }

  /** The hosts' budgets and pauses as they should outlive the process. */
  save(): void {
    for (const { id, day, fetches, readyMs } of this.hosts.values()) {
      if (day === 0) continue;
      this.books.run(
        'UPDATE hosts SET day = ?, fetches = ?, ready = ? WHERE id = ?',
        ...[day, fetches, Math.ceil(readyMs / 1_000), id],
      );
    }
  }

  private open(id: number, name: string): Host {
    const row = this.books.one('SELECT day, fetches, ready FROM hosts WHERE id = ?', id);
    const host: Host = {
      id,
      name,
      queue: [],
      dueMs: Infinity,
      readyMs: Number(row?.ready ?? 0) * 1_000,
      isBusy: false,
      out: new Set(),
      wakeMs: Number.NaN,
      day: Number(row?.day ?? 0),
      fetches: Number(row?.fetches ?? 0),
    };
    this.hosts.set(id, host);
    return host;
  }

  private wake(host: Host): void {
    if (host.isBusy) return;
    const dueMs = host.queue.length > 0 ? 0 : host.dueMs;
    if (dueMs === Infinity) return;
    host.wakeMs = Math.max(dueMs, host.readyMs);
    this.heap.add(host.wakeMs, host);
  }

  private takeFrom(host: Host, nowMs: number): Turn | undefined {
    const day = Math.floor(nowMs / DAY_MS);
    if (day !== host.day) Object.assign(host, { day, fetches: 0 });
    if (host.fetches >= this.politenessOf(host.name).fetchesPerDayMax) {
      host.readyMs = (day + 1) * DAY_MS;
      this.wake(host);
      return undefined;
    }
    if (host.queue.length === 0) this.refill(host, nowMs);
    const known = host.queue.pop();
    if (!known) return undefined;
    host.isBusy = true;
    host.fetches += 1;
    host.out.add(outKey(known));
    return { known, hostName: host.name };
  }

  /** Takes the next due addresses out of the books, but for those that are out already. */
  private refill(host: Host, nowMs: number): void {
    if (!Number.isNaN(nowMs)) {
      const count = QUEUE + host.out.size;
      const due = this.books.due(host.id, Math.floor(nowMs / 1_000), count);
      host.queue = due.filter((known) => !host.out.has(outKey(known))).reverse();
      if (host.queue.length > 0) return;
    }
    // While some are out the books still call them due: `settled` comes here again.
    const next = host.out.size > 0 ? undefined : this.books.nextDue(host.id);
    host.dueMs = next === undefined ? Infinity : next * 1_000;
    this.wake(host);
  }
}

const outKey = ({ kind, url }: Known): string => `${kind} ${url}`;

/** A binary heap by time; values may stand in it several times. */
class WakeHeap<T> {
  private readonly items: { readonly atMs: number; readonly value: T }[] = [];

  first(): { readonly atMs: number; readonly value: T } | undefined {
    return this.items[0];
  }

  add(atMs: number, value: T): void {
    const { items } = this;
    let at = items.push({ atMs, value }) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.timeOf(parent) <= atMs) break;
      this.swap(at, parent);
      at = parent;
    }
  }

  removeFirst(): void {
    const { items } = this;
    const last = items.pop();
    if (items.length === 0 || !last) return;
    items[0] = last;
    for (let at = 0; ;) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      const least = this.timeOf(right) < this.timeOf(left) ? right : left;
      if (this.timeOf(least) >= this.timeOf(at)) return;
      this.swap(at, least);
      at = least;
    }
  }

  clear(): void {
    this.items.length = 0;
  }

  private timeOf(at: number): number {
    return this.items[at]?.atMs ?? Infinity;
  }

  private swap(a: number, b: number): void {
    const [first, second] = [this.items[a], this.items[b]];
    if (!first || !second) return;
    this.items[a] = second;
    this.items[b] = first;
  }
}
