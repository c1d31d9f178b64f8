/** How much memory a watch needs that knows many addresses, and how fast it hands them out. */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LiveBlocklist } from '../../dist/search-core/ingest/blocked/blocklist.js';
import { Books } from '../../dist/search-core/ingest/watch/books.js';
import { Scope } from '../../dist/search-core/ingest/watch/scope.js';
import { parseSources } from '../../dist/search-core/ingest/watch/sources.js';
import { nameSources } from '../../dist/search-core/ingest/watch/source-books.js';
import { settle } from '../../dist/search-core/ingest/watch/settle.js';
import { Batch } from '../../dist/search-core/ingest/watch/batch.js';
import { Turns } from '../../dist/search-core/ingest/watch/turns.js';

const count = Number(process.argv[2] ?? 1_000_000);
const hosts = Number(process.argv[3] ?? 1_000);
const megabytes = (bytes) => Math.round(bytes / 1_000_000);
const directory = mkdtempSync(join(tmpdir(), 'frontier-'));
const file = join(directory, 'index.books.db');
const print = (what, value) => console.log(what.padEnd(44), value);
let peak = 0;
const note = () => (peak = Math.max(peak, process.memoryUsage.rss()));
try {
  const origin = (host) => `https://host-${host}.example.org`;
  const sources = parseSources(
    JSON.stringify({
      sources: [{ kind: 'site', url: `${origin(0)}/`, pagesMax: 5_000_000, furtherHosts: hosts }],
      everyHost: { delaySeconds: 0, fetchesPerDayMax: 10_000_000 },
    }),
    file,
  );
  const books = Books.open(file);
  const turns = new Turns(books, sources.politenessOf);
  const scope = new Scope(books, new LiveBlocklist(`${file}.none`), (host, due) =>
    turns.note(books.host(host), host, due * 1_000),
  );
  scope.use(nameSources(books, sources, 0));
  const begun = performance.now();
  books.begin();
  for (let at = 0; at < count; at += 1) {
    const url = `${origin(at % hosts)}/docs/section-${at % 97}/a-page-with-a-usual-name-${at}`;
    scope.add({ url, kind: 'page', source: 1, depth: 2, hops: 0, dueSeconds: 1 + (at % 1_000) });
    if (at % 20_000 === 19_999) {
      books.commit();
      books.begin();
      note();
    }
  }
  books.commit();
  note();
  print('addresses added a second', Math.round(count / ((performance.now() - begun) / 1_000)));
  const looks = Math.min(count, 100_000);
  const began = performance.now();
  books.begin();
  const nowSeconds = 100_000;
  const ports = {
    books,
    batch: new Batch(),
    scope,
    schedule: sources.schedule,
    drop: () => undefined,
    onWoken: () => undefined,
  };
  for (let at = 0; at < looks; at += 1) {
    const turn = turns.take(nowSeconds * 1_000);
    if (!('known' in turn)) throw new Error(`nothing is due after ${at}`);
    settle(turn.known, { kind: 'unchanged' }, nowSeconds, ports);
    turns.finish(turn, 0);
    turns.settled(turn);
    if (at % 1_000 === 999) {
      books.commit();
      books.begin();
      note();
    }
  }
  books.commit();
  note();
  print(
    'unchanged pages settled a second',
    Math.round(looks / ((performance.now() - began) / 1_000)),
  );
  books.close();
  const opening = performance.now();
  const again = Books.open(file);
  const turnsAgain = new Turns(again, sources.politenessOf);
  new Scope(again, new LiveBlocklist(`${file}.none`), () => undefined);
  if (!('known' in turnsAgain.take(nowSeconds * 1_000))) throw new Error('nothing is due');
  note();
  print('opened again, ms', Math.round(performance.now() - opening));
  print('peak resident memory, MB', megabytes(peak));
  print('file, MB', megabytes(statSync(file).size));
} finally {
  rmSync(directory, { recursive: true });
}
