/** Real search-cores over one index folder behind a gateway: frozen, killed, and while it is written. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { buildIndex } from '../../search-core/index/build.js';
import { openWriter } from '../../search-core/index/open-writer.js';
import { PAGES, startTestService, type TestService } from '../support/service.js';
import { until } from '../support/until.js';

const PROGRAM = fileURLToPath(new URL('../../search-core/main.js', import.meta.url));
const stops: (() => unknown)[] = [];
let indexDir: string;
let cores: { readonly process: ChildProcess; readonly url: string }[];
let service: TestService;

async function* pages() {
  for (const page of PAGES) yield await Promise.resolve(page);
}

async function startCore(listen: string) {
  const env = { SEARCH_CORE_LISTEN: listen, SEARCH_CORE_INDEX: indexDir, LOG_LEVEL: 'silent' };
  const child = fork(PROGRAM, [], { env });
  stops.push(() => child.kill('SIGKILL'));
  const [{ url }] = (await once(child, 'message')) as [{ url: string }];
  return { process: child, url };
}

beforeAll(async () => {
  indexDir = mkdtempSync(join(tmpdir(), 'search-nodes-'));
  await buildIndex(indexDir, pages());
  cores = await Promise.all([startCore('127.0.0.1:0'), startCore('127.0.0.1:0')]);
  const urls = cores.map(({ url }) => url).join(',');
  service = await startTestService({ env: { SEARCH_CORE_URLS: urls } });
});
afterAll(async () => {
  await service.stop();
  for (const stop of stops) stop();
  rmSync(indexDir, { recursive: true });
});

async function search(query: string) {
  const headers = { authorization: `Bearer ${service.dev.apiKey}` };
  const response = await service.search({ query }, headers);
  const { result } = (await response.json()) as { result?: { results: { url: string }[] } };
  return { status: response.status, urls: result?.results.map(({ url }) => url) };
}

/** The statuses of searches that go to all nodes. */
async function statuses(): Promise<Set<number>> {
  const words = ['lamp', 'bread', 'water', 'salt', 'tables', 'door', 'keeper', 'evening'];
  const found = await Promise.all(words.map((word) => search(word)));
  return new Set(found.map(({ status }) => status));
}

const nodesSay = async (line: RegExp) =>
  line.test(await (await fetch(`${service.opsUrl}/metrics`)).text());
const isReady = (url: string, ready: 0 | 1) =>
  nodesSay(
    new RegExp(`^search402_search_node_ready\\{node="${new URL(url).host}"\\} ${ready}$`, 'mu'),
  );

const BOTH_AT_TWO = /^search402_search_node_generation\{[^}]*\} 2\n.*\} 2$/mu;

test('searches go on while a node is frozen, then killed, and find a new commit on all of them', async () => {
  const [first, second] = cores;
  if (!first || !second) throw new Error('two were started');
  expect(await statuses()).toEqual(new Set([200]));

  first.process.kill('SIGSTOP');
  expect(await statuses()).toEqual(new Set([200]));
  await until(() => isReady(first.url, 0));
  const writer = await openWriter(indexDir);
  await writer.put({ url: 'https://pages.example/new', title: 'New', text: 'A quokka came.' });
  await writer.commit();
  await writer.close();
  await until(async () => (await search('quokka')).urls?.length === 1);
  first.process.kill('SIGCONT');
  await until(() => isReady(first.url, 1));
  await until(() => nodesSay(BOTH_AT_TWO));

  second.process.kill('SIGKILL');
  expect(await statuses()).toEqual(new Set([200]));
  await until(() => isReady(second.url, 0));
  expect(await search('quokka')).toEqual({ status: 200, urls: ['https://pages.example/new'] });
  expect((await fetch(`${service.opsUrl}/readyz`)).status).toBe(200);

  await startCore(new URL(second.url).host);
  await until(() => isReady(second.url, 1));
  expect(await nodesSay(BOTH_AT_TWO)).toBe(true);
});
