/** Paid search over a real OpenSearch cluster of two nodes, one of which is lost, and then both freeze. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parseOpenSearch } from '../../search-core/engines/opensearch/api.js';
import { OpenSearchEngine } from '../../search-core/engines/opensearch/engine.js';
import { openSearchSink } from '../../search-core/ingest/opensearch-sink.js';
import { indexArchives } from '../../search-core/ingest/warc/archive.js';
import { type SearchCore, startSearchCore } from '../../search-core/main.js';
import {
  hasOpenSearch,
  OPENSEARCH_MISSING,
  type OpenSearchCluster,
  startOpenSearch,
} from '../support/opensearch.js';
import { receiptOf, signPayment } from '../support/pay.js';
import { htmlPage } from '../support/prose.js';
import { startTestService, type TestService } from '../support/service.js';
import { until } from '../support/until.js';
import { responseRecord } from '../support/warc-maker.js';

if (!hasOpenSearch) process.stderr.write(`${OPENSEARCH_MISSING}\n`);
const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
const LAYOUT = { shards: 2, replicas: 1 };
const PAGES = 40;

(hasOpenSearch ? describe : describe.skip)('a cluster of two nodes', () => {
  let folder: string;
  let cluster: OpenSearchCluster;
  const stops: (() => Promise<unknown>)[] = [];
  let url: string;
  let core: SearchCore;
  let service: TestService;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'opensearch-test-'));
    cluster = await startOpenSearch();
    stops.push(() => cluster.stop());
    url = `${cluster.nodes.map((node) => node.url).join(',')}/pages-${randomUUID()}`;
    await load();
    const openSearch = { url, passwordFile: undefined, layout: LAYOUT };
    core = await startSearchCore({ listen: '127.0.0.1:0', indexDir: folder, openSearch, log });
    stops.push(() => core.close());
    service = await startTestService({ env: { SEARCH_CORE_URL: core.url } });
    stops.push(() => service.stop());
  }, 180_000);
  afterAll(async () => {
    for (const stop of stops.reverse()) await stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** A crawl's archive: pages, one of them twice, and one in another language. */
  async function load(): Promise<void> {
    const page = (n: number) => htmlPage(n, { body: `<p>Here lives quokka${n}.</p>` });
    const german =
      'Der Hund lief über die Straße und sah die Katze nicht, die im Garten lag. '.repeat(20);
    const records = Array.from({ length: PAGES }, (_, n) =>
      responseRecord(`https://pages.example/${n}`, page(n)),
    );
    const odd = [
      responseRecord('https://pages.example/copy', page(1)),
      responseRecord(
        'https://pages.example/de',
        `<html lang="de"><body><p>${german}</p></body></html>`,
      ),
    ];
    const file = join(folder, 'pages.warc');
    writeFileSync(file, Buffer.concat([...records, ...odd]));
    const report = await indexArchives(
      'warc',
      [file],
      { index: join(folder, 'index'), isAddition: false },
      {
        sink: openSearchSink(parseOpenSearch(url), LAYOUT),
        progress: { show: () => undefined, end: () => undefined },
        signal: new AbortController().signal,
        nowMs: () => 0,
      },
    );
    expect(report.kept).toBe(PAGES);
  }

  const search = (query: string) =>
    service.search({ query }, { authorization: `Bearer ${service.dev.apiKey}` });
  const foundAt = async (n: number): Promise<unknown> => {
    const reply = await search(`quokka${n}`);
    const { result } = (await reply.json()) as { result?: { results: { url: string }[] } };
    return result?.results.map((one) => one.url);
  };
  const stats = () => new OpenSearchEngine(parseOpenSearch(url)).stats();

  test('answers a paid search from an archive, and loses nothing when a node is killed', async () => {
    expect(await stats()).toEqual({
      pages: PAGES,
      generation: 1,
      details: '2 shards, 4 of 4 copies serve',
    });
    const query = { query: 'quokka7' };
    const paid = await service.search(query, {
      'payment-signature': await signPayment(service, query),
    });
    expect(paid.status).toBe(200);
    expect(receiptOf(paid).success).toBe(true);

    cluster.nodes[1].process.kill('SIGKILL');
    for (let n = 0; n < PAGES; n += 5) {
      // A search that was under way to the node may be refused once, and never with a 500.
      await until(async () => {
        const { status } = await search(`quokka${n}`);
        expect([200, 503, 504]).toContain(status);
        return status === 200;
      });
      expect(await foundAt(n)).toEqual([`https://pages.example/${n}`]);
    }
    await until(async () => (await stats()).details === '2 shards, 2 of 4 copies serve');
    expect((await fetch(`${core.url}/readyz`)).status).toBe(200);
  });

  test('refuses with 503 while it is frozen, says so at once, and goes on afterwards', async () => {
    cluster.nodes[0].process.kill('SIGSTOP');
    const ready = await fetch(`${core.url}/readyz`);
    expect(ready.status).toBe(503);
    expect(await ready.json()).toMatchObject({ problem: expect.stringContaining('OpenSearch') });
    const refused = await search('quokka1');
    expect(refused.status).toBe(503);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    await until(async () => (await fetch(`${service.opsUrl}/readyz`)).status === 503);
    cluster.nodes[0].process.kill('SIGCONT');
    await until(async () => (await fetch(`${service.opsUrl}/readyz`)).status === 200);
    expect(await foundAt(1)).toEqual(['https://pages.example/1']);
  });
});
