import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  MemoryStore,
  type PaymentRecord,
  type PaymentStore,
} from '../../sdk/typescript/src/index.js';
import { FileStore } from '../../sdk/typescript/src/node/index.js';
import { loadSqlite } from '../../sdk/typescript/src/node/sqlite-store.js';

let directory: string;
let path: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'search402-store-'));
  path = join(directory, 'payments.jsonl');
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const DAY_MS = 86_400_000;
const NOW_MS = 100 * DAY_MS;
const URL = 'https://example.com/search';
const record = (n: number, more: Partial<PaymentRecord> = {}): PaymentRecord => ({
  id: `0x${n.toString(16).padStart(64, '0')}`,
  status: 'paid',
  url: URL,
  network: 'eip155:8453',
  asset: '0x01',
  payer: '0x02',
  payTo: '0x03',
  amountUnits: 50n,
  createdAtMs: NOW_MS,
  validBefore: 1,
  ...more,
});
const line = (one: PaymentRecord) =>
  `${JSON.stringify({ ...one, amountUnits: one.amountUnits.toString() })}\n`;
const spent = (store: PaymentStore, nowMs: number) =>
  store.read((view) => {
    const { dayUnits, totalUnits } = view.spent(nowMs);
    return { dayUnits, totalUnits };
  });

/** Every store keeps the port's promise. SQLite is tried in the Node that has it: see sqlite.test. */
const KINDS = ['memory', 'log', 'sqlite'] as const;
let hasSqlite = false;
beforeAll(async () => {
  hasSqlite = (await loadSqlite()) !== undefined;
});

describe.each(KINDS)('the store in %s', (kind) => {
  const open = (): PaymentStore =>
    kind === 'memory' ? new MemoryStore() : new FileStore(path, { prefer: kind });
  const when = (name: string, run: () => Promise<void>) =>
    test(name, async () => {
      if (kind === 'sqlite' && !hasSqlite) return;
      await run();
    });

  when('gives back what was put, the newest version of each record, oldest first', async () => {
    const store = open();
    const first = record(1, { status: 'open', header: 'h', body: 'b' });
    expect(await store.update(() => first)).toEqual(first);
    await store.update(() => record(2));
    await store.update((view) => {
      expect(view.get(first.id)).toEqual(first);
      expect(view.pending(URL, 'b')).toEqual([first]);
      expect(view.pending(URL, 'c')).toEqual([]);
      return record(1);
    });
    expect(await store.read((view) => view.pending(URL, 'b'))).toEqual([]);
    expect(await store.list()).toEqual([record(1), record(2)]);
    expect(await store.update(() => undefined)).toBeUndefined();
  });

  when('stores nothing when the change throws, and works on', async () => {
    const store = open();
    const refused = store.update(() => {
      throw new Error('no');
    });
    await expect(refused).rejects.toThrow('no');
    await store.update(() => record(1));
    expect(await store.list()).toHaveLength(1);
  });

  when('counts what was signed, of any 24 hours and in all', async () => {
    const store = open();
    await store.update(() => record(1, { createdAtMs: NOW_MS - DAY_MS }));
    await store.update(() => record(2, { createdAtMs: NOW_MS - DAY_MS + 1, status: 'refused' }));
    await store.update(() => record(3, { status: 'open', body: 'b' }));
    await store.update(() => record(4, { status: 'signing', body: 'c' }));
    await store.update(() => record(5, { status: 'released' }));
    expect(await spent(store, NOW_MS)).toEqual({ dayUnits: 150n, totalUnits: 200n });
    // What a killed process was about to sign stops counting; the rest leaves the day, not the sum.
    expect(await spent(store, NOW_MS + 3_600_001)).toEqual({ dayUnits: 50n, totalUnits: 150n });
    expect(await spent(store, NOW_MS + DAY_MS)).toEqual({ dayUnits: 0n, totalUnits: 150n });
    // A clock that is set back counts as it did.
    expect(await spent(store, NOW_MS)).toEqual({ dayUnits: 150n, totalUnits: 200n });
    await store.update(() => record(3, { status: 'released' }));
    expect(await spent(store, NOW_MS)).toEqual({ dayUnits: 100n, totalUnits: 150n });
  });

  when('of a hundred changes at once that want one place, one gets it', async () => {
    const stores = kind === 'memory' ? [open()] : Array.from({ length: 8 }, open);
    const placed = await Promise.all(
      Array.from({ length: 100 }, async (_, i) =>
        stores[i % stores.length]?.update((view) =>
          view.pending(URL, 'b').length > 0
            ? undefined
            : record(i + 1, { status: 'open', body: 'b' }),
        ),
      ),
    );
    expect(placed.filter(Boolean)).toHaveLength(1);
    expect(await stores[0]?.list()).toHaveLength(1);
  });

  when('stays small: old closed payments are summed up, and the sum is kept', async () => {
    const store = open();
    const old = (i: number) =>
      record(i, { createdAtMs: DAY_MS, status: i % 2 === 0 ? 'paid' : 'released' });
    if (kind === 'memory') {
      for (let i = 0; i < 10_500; i += 1) await store.update(() => old(i));
    } else {
      const lines = Array.from({ length: 10_500 }, (_, i) => line(old(i))).join('');
      writeFileSync(path, lines);
    }
    await store.update(() => record(20_000, { status: 'open', body: 'b', createdAtMs: DAY_MS }));
    for (let i = 0; i < 1_000; i += 1) await store.update(() => record(30_000));
    const records = await store.list();
    expect(records).toHaveLength(3);
    expect(records.reduce((sum, one) => sum + one.amountUnits, 0n)).toBe(50n * 5_252n);
  });
});

describe('the folder of a store', () => {
  const files = () => readdirSync(`${path}.d`, { recursive: true, withFileTypes: true });

  test('is its owner’s alone, and so is every file in it', async () => {
    await new FileStore(path).update(() => record(1));
    expect(statSync(`${path}.d`).mode & 0o777).toBe(0o700);
    for (const file of files()) {
      const { mode } = statSync(join(file.parentPath, file.name));
      expect(mode & 0o777).toBe(file.isDirectory() ? 0o700 : 0o600);
    }
  });

  test('is of the kind that the first process chose, whatever a later one prefers', async () => {
    await new FileStore(path, { prefer: 'log' }).update(() => record(1));
    expect(await new FileStore(path, { prefer: 'sqlite' }).list()).toEqual([record(1)]);
    const other = join(directory, 'other');
    await Promise.all(
      (['log', 'log', 'log'] as const).map((prefer, i) =>
        new FileStore(other, { prefer }).update(() => record(i + 1)),
      ),
    );
    expect(await new FileStore(other).list()).toHaveLength(3);
  });

  test('that needs SQLite is refused by a runtime without it, by name', async () => {
    if (hasSqlite) return;
    await expect(new FileStore(path, { prefer: 'sqlite' }).list()).rejects.toThrow(
      /kept by a runtime with SQLite/,
    );
  });

  test('takes over the file of an earlier version, but for a line that a crash cut short', async () => {
    writeFileSync(path, line(record(1)) + line(record(2)) + line(record(1, { status: 'open' })));
    appendFileSync(path, '{"id":"0x02","sta');
    await new FileStore(path).update(() => record(3));
    const expected = [record(1, { status: 'open' }), record(2), record(3)];
    expect(await new FileStore(path).list()).toEqual(expected);
  });

  test('damage is an error: no payment is signed on top of it', async () => {
    writeFileSync(path, 'garbage\n');
    await expect(new FileStore(path).update(() => record(1))).rejects.toThrow(/damaged in line 1/);
    expect(readFileSync(path, 'utf8')).toBe('garbage\n');
  });

  test('the log begins anew after a thousand changes, and nobody loses one', async () => {
    const stores = Array.from({ length: 4 }, () => new FileStore(path, { prefer: 'log' }));
    await Promise.all(
      stores.map(async (store, i) => {
        for (let n = 0; n < 400; n += 1) await store.update(() => record(i * 1000 + n + 1));
      }),
    );
    for (const store of stores) expect(await store.list()).toHaveLength(1_600);
    expect(await new FileStore(path).list()).toHaveLength(1_600);
    const generations = readdirSync(`${path}.d`).filter((name) => /^\d+$/.test(name));
    expect(generations).toEqual(['2']);
  });
});
