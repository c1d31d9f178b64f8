import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  appendFileSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PaymentRecord } from '../../sdk/typescript/src/index.js';
import { FileStore } from '../../sdk/typescript/src/node/index.js';

let directory: string;
let path: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'search402-store-'));
  path = join(directory, 'payments.jsonl');
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const DAY_MS = 86_400_000;
const record = (n: number, more: Partial<PaymentRecord> = {}): PaymentRecord => ({
  id: `0x${n.toString(16).padStart(64, '0')}`,
  status: 'paid',
  url: 'https://example.com/search',
  network: 'eip155:8453',
  asset: '0x01',
  payer: '0x02',
  payTo: '0x03',
  amountUnits: 50n,
  createdAtMs: 100 * DAY_MS,
  validBefore: 1,
  ...more,
});

describe('the payment file', () => {
  test('gives back what was put, the newest version of each record', async () => {
    await new FileStore(path).update(() => record(1, { status: 'open', header: 'h' }));
    await new FileStore(path).update(() => record(2));
    await new FileStore(path).update((records) => {
      expect(records.size).toBe(2);
      return record(1);
    });
    expect(await new FileStore(path).list()).toEqual([record(1), record(2)]);
  });

  test('stores nothing when the change throws, and works on', async () => {
    const store = new FileStore(path);
    const refused = store.update(() => {
      throw new Error('no');
    });
    await expect(refused).rejects.toThrow('no');
    await store.update(() => record(1));
    expect(await store.list()).toHaveLength(1);
  });

  test('a line that a crash cut short is dropped and does not spoil the next', async () => {
    await new FileStore(path).update(() => record(1));
    appendFileSync(path, '{"id":"0x02","sta');
    await new FileStore(path).update(() => record(3));
    expect(await new FileStore(path).list()).toEqual([record(1), record(3)]);
  });

  test('damage anywhere else is an error: no payment is signed on top of it', async () => {
    writeFileSync(path, 'garbage\n');
    await expect(new FileStore(path).update(() => record(1))).rejects.toThrow(/damaged in line 1/);
    expect(readFileSync(path, 'utf8')).toBe('garbage\n');
  });

  test('a lock that a killed process left is broken after ten seconds', async () => {
    writeFileSync(`${path}.lock`, '');
    const long = Date.now() / 1000 - 11;
    utimesSync(`${path}.lock`, long, long);
    await new FileStore(path).update(() => record(1));
    expect(await new FileStore(path).list()).toHaveLength(1);
  });

  test('stays small: old closed payments are summed up, and the sum is kept', async () => {
    const line = (n: number, more: Partial<PaymentRecord>) => {
      const one = record(n, more);
      return `${JSON.stringify({ ...one, amountUnits: one.amountUnits.toString() })}\n`;
    };
    const old = Array.from({ length: 10_500 }, (_, i) =>
      line(i, { createdAtMs: DAY_MS, status: i % 2 === 0 ? 'paid' : 'released' }),
    );
    writeFileSync(path, old.join('') + line(20_000, { status: 'open', createdAtMs: DAY_MS }));
    const store = new FileStore(path);
    await store.update(() => record(30_000));
    const records = await store.list();
    expect(records).toHaveLength(3);
    expect(records.reduce((sum, one) => sum + one.amountUnits, 0n)).toBe(50n * 5_252n);
    expect(readFileSync(path, 'utf8').split('\n')).toHaveLength(4);
  });
});
