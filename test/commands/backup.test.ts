/** A backup of a service that runs, put back on either engine, and what must be refused. */
import { execFile } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Kysely } from 'kysely';
import { MIGRATIONS } from '../../gateway/wiring/migrations.js';
import { checkIndex } from '../../search-core/index/check.js';
import {
  backUp,
  bookLines,
  copyOf,
  faultOf,
  putBack,
  replaceFile,
  rewrite,
  zipped,
} from '../support/backups.js';
import { receiptOf, signPayment } from '../support/pay.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { startTestService, type TestService } from '../support/service.js';
import { temporaryStore } from '../support/stores.js';
import { removeTemporaries, temporary } from '../support/temporary.js';

removeTemporaries();
const kept = mkdtempSync(join(tmpdir(), 'search402-backups-'));
const SECRET = 'ab'.repeat(32);
const SEARCHES = 20;

let service: TestService;
let server: TestPostgres;
let env: NodeJS.ProcessEnv;
/** A backup of the service with one payment and some searches, and an encrypted one. */
let plain: string;
let sealed: string;
let keyFile: string;

interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

function run(name: 'backup' | 'restore', args: readonly string[], more: object): Promise<Run> {
  const file = fileURLToPath(new URL(`../../commands/${name}.js`, import.meta.url));
  const options = { env: { PATH: process.env.PATH, ...more } };
  return new Promise((resolve) => {
    execFile(process.execPath, [file, ...args], options, (error, out, err) => {
      resolve({ code: error ? Number(error.code) : 0, out, err });
    });
  });
}

const bearer = () => `Bearer ${service.dev.apiKey}`;
const keyed = () => service.search({ query: 'lighthouse' }, { authorization: bearer() });

/** The rows of one table in a backup without a key. */
function rowsOf(table: string, backup: string): readonly unknown[] {
  const lines = bookLines(backup).map((line) => JSON.parse(line) as unknown);
  const start = lines.findIndex(
    (one) => !Array.isArray(one) && (one as { table: string }).table === table,
  );
  const end = lines.findIndex((one, at) => at > start && !Array.isArray(one));
  return lines.slice(start + 1, end);
}

const contents = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name)));

/** The file with the postings, below the folder. */
function postingsIn(backup: string): string {
  const name = readdirSync(join(backup, 'index')).find((one) => one.endsWith('.postings'));
  return join('index', name ?? 'none');
}

beforeAll(async () => {
  [service, server] = await Promise.all([startTestService(), startPostgres()]);
  keyFile = join(kept, 'backup.key');
  writeFileSync(keyFile, `${'5a'.repeat(32)}\n`, { mode: 0o600 });
  const body = { query: 'lighthouse' };
  const payment = { 'payment-signature': await signPayment(service, body) };
  receiptOf(await service.search(body, payment));
  await Promise.all(Array.from({ length: SEARCHES }, keyed));
  await fetch(`${service.gatewayUrl}/account`, { headers: { authorization: bearer() } });
  env = { DATA_DIR: service.dataDir, QUOTE_SECRET: SECRET };
  plain = (await backUp(env, join(kept, 'plain'))).folder;
  sealed = (await backUp(env, join(kept, 'sealed'), { keyFile, withSecrets: true })).folder;
});
afterAll(async () => {
  await service.stop();
  await server.stop();
  rmSync(kept, { recursive: true });
});

describe('a backup beside the running gateway', () => {
  test('is proven against the chain, and says what it holds and what it does not', async () => {
    const { code, out, err } = await run('backup', [temporary()], env);
    expect([code, err]).toEqual([0, '']);
    expect(out).toContain('1 payment,');
    expect(out).toContain('3 pages in the index');
    expect(out).toContain('1 settled payment of the last day, none missing');
    expect(out).toMatch(/Not in the backup: \S+sealing\.key/);
  });

  test('has what was answered, although none of it is in the database file yet', async () => {
    const file = join(temporary(), 'search402.db');
    copyFileSync(join(service.dataDir, 'search402.db'), file);
    const plainCopy = await faultOf(backUp({ DATA_DIR: dirname(file) }, temporary())).catch(String);
    expect(plainCopy).toContain('this database has no books');
    expect(rowsOf('credit_balances', plain)).toEqual([expect.arrayContaining([String(SEARCHES)])]);
  });

  test('made while credits move has balances that match their movements, each time', async () => {
    const over = new AbortController();
    const searching = (async () => {
      while (!over.signal.aborted) await Promise.all(Array.from({ length: 8 }, keyed));
    })();
    // Each is put back and checked before it counts.
    const made = [await backUp(env, temporary()), await backUp(env, temporary())];
    over.abort();
    await searching;
    for (const { manifest } of made) expect(manifest.tables.credit_balances).toBe(1);
  });

  test('never has a secret in clear, and encrypted nothing in clear', () => {
    const key = readFileSync(join(service.dataDir, 'sealing.key'), 'utf8').trim();
    const payer = service.dev.payerAddress.toLowerCase();
    for (const file of contents(plain)) {
      expect(file.includes(SECRET)).toBe(false);
      expect(file.includes(key)).toBe(false);
    }
    for (const file of contents(sealed)) {
      for (const text of [SECRET, key, payer, 'lighthouse'])
        expect(file.includes(text)).toBe(false);
    }
    expect(readFileSync(join(plain, 'settings.env'), 'utf8')).toContain('# QUOTE_SECRET was set.');
  });

  test('with secrets but without a key is refused', async () => {
    expect(await faultOf(backUp(env, temporary(), { withSecrets: true }))).toBe('needs-key');
  });

  test('of an index that lacks a file is refused, and leaves nothing that looks like one', async () => {
    const [dataDir, into] = [temporary(), temporary()];
    await putBack(plain, { DATA_DIR: dataDir });
    const postings = join(dataDir, postingsIn(plain));
    rmSync(postings);
    expect(await faultOf(backUp({ DATA_DIR: dataDir }, into))).toBe('index-damaged');
    writeFileSync(postings, 'half');
    expect(await faultOf(backUp({ DATA_DIR: dataDir }, into))).toBe('index-damaged');
    expect(readdirSync(into)).toEqual([]);
  });

  test('removes older ones beyond those to keep, and nothing else', async () => {
    const into = temporary();
    for (const name of ['search402-20200101T000000Z', 'search402-20210101T000000Z', 'mine']) {
      renameSync(copyOf(plain), join(into, name));
    }
    const { code } = await run('backup', [into, '--keep', '2', '--without-chain'], env);
    const left = readdirSync(into);
    expect([code, left.length]).toEqual([0, 3]);
    expect(left).toEqual(expect.arrayContaining(['mine', 'search402-20210101T000000Z']));
  });
});

describe('a backup is put back', () => {
  test('with its keys, so that a start finds everything where it was', async () => {
    const DATA_DIR = join(temporary(), 'data');
    const { code, out, err } = await run('restore', [sealed, '--key-file', keyFile], { DATA_DIR });
    expect([code, err]).toEqual([0, '']);
    expect(out).toContain(join(DATA_DIR, 'search402.db'));
    const read = (name: string, folder = DATA_DIR) => readFileSync(join(folder, name), 'utf8');
    expect(read('sealing.key')).toBe(read('sealing.key', service.dataDir));
    expect(read('restored/settings.env')).toContain(`QUOTE_SECRET=${SECRET}`);
    expect(await checkIndex(join(DATA_DIR, 'index'))).toMatchObject({ ok: true, pages: 3 });
    const again = await backUp({ DATA_DIR }, temporary());
    expect(rowsOf('credit_balances', again.folder)).toEqual(rowsOf('credit_balances', plain));
  });

  test('into PostgreSQL and from there into SQLite without a row or a byte of difference', async () => {
    const there = { DATA_DIR: join(temporary(), 'there'), DATABASE_URL: server.url };
    await putBack(plain, there, { parts: ['books'] });
    const linesOf = async (settings: NodeJS.ProcessEnv) =>
      [...bookLines((await backUp(settings, temporary())).folder)].sort();
    expect(await linesOf(there)).toEqual([...bookLines(plain)].sort());
    await insert(server.url, 'people', {
      ...{ id: 'p', name: 'P', email: 'p@example.com', emailVerified: true },
      ...{ createdAt: '2026-01-02T03:04:05.678Z', updatedAt: '2026-01-02T03:04:05.678Z' },
    });
    const fromPostgres = await backUp(there, temporary());
    expect(fromPostgres.manifest.engine).toBe('postgres');
    const back = { DATA_DIR: join(temporary(), 'back') };
    await putBack(fromPostgres.folder, back);
    expect(await linesOf(back)).toEqual([...bookLines(fromPostgres.folder)].sort());
    expect(await faultOf(putBack(plain, there, { parts: ['books'] }))).toBe('not-empty');
  });

  test('of the version before, with its rows brought up to date', async () => {
    const last = MIGRATIONS.findIndex(({ name }) => name === 'ledger-022-publishing-fees');
    const before = MIGRATIONS.filter((_, at) => at !== last);
    const DATA = temporary();
    await insert(join(DATA, 'search402.db'), 'accounts', ACCOUNT, before);
    const { folder } = await backUp({ DATA_DIR: DATA }, temporary());
    const DATA_DIR = join(temporary(), 'data');
    await putBack(folder, { DATA_DIR });
    const { manifest } = await backUp({ DATA_DIR }, temporary());
    expect(manifest.migrations).toHaveLength(MIGRATIONS.length);
    expect(manifest.tables.accounts).toBe(1);
  });
});

const ACCOUNT = { id: 'a', name: 'A', plan: 'payg', rate_per_second: 5, created_at: 1 };

/** Writes one row into a database with this schema, which is made if need be. */
async function insert(
  location: string,
  table: string,
  row: Readonly<Record<string, unknown>>,
  migrations = MIGRATIONS,
) {
  const { store, discard } = await temporaryStore(migrations, location);
  await store.write(async (tx: Kysely<Record<string, Record<string, unknown>>>) => {
    await tx.insertInto(table).values(row).execute();
  });
  await discard();
}

describe('a backup that is not whole, or not for this version, is refused by name', () => {
  const check = (backup: string) => faultOf(putBack(backup, { DATA_DIR: join(temporary(), 'd') }));

  test('where a file is missing, shorter, longer or changed by one bit', async () => {
    for (const name of ['books.jsonl.gz', 'settings.env', postingsIn(plain), 'index/index.json']) {
      const bytes = readFileSync(join(plain, name));
      const flipped = Buffer.from(bytes);
      flipped[bytes.length >> 1] = (flipped[bytes.length >> 1] ?? 0) ^ 1;
      for (const spoilt of [bytes.subarray(1), Buffer.concat([bytes, bytes]), flipped]) {
        const copy = copyOf(plain);
        writeFileSync(join(copy, name), spoilt);
        expect(await check(copy)).toBe('damaged');
      }
      const copy = copyOf(plain);
      rmSync(join(copy, name));
      expect(await check(copy)).toBe('damaged');
    }
  });

  test('where its list was changed, is missing, or is no list', async () => {
    const copy = copyOf(plain);
    const list = join(copy, 'backup.json');
    const text = readFileSync(list, 'utf8');
    writeFileSync(list, text.replace('"payments": 1', '"payments": 0'));
    expect(await check(copy)).toBe('damaged');
    writeFileSync(list, text.slice(0, text.length >> 1));
    expect(await check(copy)).toBe('damaged');
    rmSync(list);
    expect(await check(copy)).toBe('not-a-backup');
    const unfinished = `${copy}.unfinished`;
    renameSync(copy, unfinished);
    expect(await check(unfinished)).toBe('not-finished');
  });

  test('where a newer version made it: its format, its books, its settings', async () => {
    const format = copyOf(plain);
    rewrite(format, (manifest) => ({ ...manifest, format: 2, novelty: true }));
    expect(await check(format)).toBe('newer-backup');
    const books = copyOf(plain);
    rewrite(books, (manifest) => ({
      ...manifest,
      migrations: [...manifest.migrations, 'ledger-999-novelty'],
    }));
    expect(await check(books)).toBe('newer-books');
    const settings = copyOf(plain);
    replaceFile(settings, 'settings.env', Buffer.from('NOVELTY=on\n'));
    expect(await check(settings)).toBe('unknown-settings');
    const DATA_DIR = join(temporary(), 'd');
    await putBack(settings, { DATA_DIR }, { parts: ['books', 'index'] });
    expect(existsSync(join(DATA_DIR, 'search402.db'))).toBe(true);
  });

  test('where its list leads out of its folder', async () => {
    const copy = copyOf(plain);
    rewrite(copy, (manifest) => ({
      ...manifest,
      files: manifest.files.map((file) => ({ ...file, name: '../../etc/passwd' })),
    }));
    expect(await check(copy)).toBe('damaged');
  });

  test('where its books break a rule, although every checksum fits', async () => {
    const lines = bookLines(plain);
    const spoil = async (change: (line: string) => readonly string[]) => {
      const copy = copyOf(plain);
      replaceFile(copy, 'books.jsonl.gz', zipped(lines.flatMap(change)));
      return check(copy);
    };
    const isMovement = (line: string) => line.includes('"outside","available"');
    const first = lines.find(isMovement);
    expect(await spoil((line) => (line === first ? [] : [line]))).toBe('damaged');
    const more = (line: string) => (line === first ? line.replace('"1000000"', '"1000001"') : line);
    expect(await spoil((line) => [more(line)])).toBe('rule-broken');
    const isAccount = (at: number) => lines[at - 1]?.startsWith('{"table":"accounts"') === true;
    const copy = copyOf(plain);
    replaceFile(copy, 'books.jsonl.gz', zipped(lines.filter((_, at) => !isAccount(at))));
    rewrite(copy, (manifest) => ({ ...manifest, tables: { ...manifest.tables, accounts: 0 } }));
    expect(await check(copy)).toBe('rule-broken');
  });

  test('where the key is missing, another one, or of another kind', async () => {
    const key = (byte: string) => ({ kind: 'key-file', key: Buffer.from(byte.repeat(32), 'hex') });
    const open = (source?: object) =>
      faultOf(putBack(sealed, { DATA_DIR: join(temporary(), 'd') }, { source } as never));
    expect(await open()).toBe('needs-key');
    expect(await open(key('5b'))).toBe('wrong-key');
    expect(await open({ kind: 'passphrase', text: 'twelve letters' })).toBe('wrong-key');
  });

  test('where there is something already, which stays as it was', async () => {
    const DATA_DIR = join(temporary(), 'data');
    await putBack(plain, { DATA_DIR });
    const before = contents(DATA_DIR);
    expect(await faultOf(putBack(plain, { DATA_DIR }))).toBe('not-empty');
    rmSync(join(DATA_DIR, 'search402.db'));
    writeFileSync(join(DATA_DIR, 'search402.db-wal'), 'a log of another database');
    expect(await faultOf(putBack(plain, { DATA_DIR }, { parts: ['books'] }))).toBe('not-empty');
    expect(contents(DATA_DIR)).toHaveLength(before.length);
  });

  test('where a gateway runs', async () => {
    await expect(putBack(plain, env)).rejects.toThrow(/Another gateway runs in the data folder/);
  });

  test('with its code for programs, and nothing but the reason for people', async () => {
    const DATA_DIR = join(temporary(), 'd');
    const forPrograms = await run('restore', [sealed, '--json'], { DATA_DIR });
    expect(forPrograms.code).toBe(1);
    expect(JSON.parse(forPrograms.out)).toMatchObject({ error: 'needs-key' });
    const forPeople = await run('restore', [sealed, '--check'], { DATA_DIR });
    expect(forPeople).toEqual({
      code: 1,
      out: '',
      err: 'needs-key: this backup is encrypted: open it with --key-file FILE.\n',
    });
    expect(existsSync(DATA_DIR)).toBe(false);
  });
});
