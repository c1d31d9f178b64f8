/**
 * The whole service in this process, on free ports and a folder of its own:
 *
 *   const service = await startTestService();                 // local chain, its own small index
 *   const service = await startTestService({ env: { SEARCH_CORE_URL: fake.url } });
 *   await service.search({ query: 'x' }, { authorization: `Bearer ${service.dev.apiKey}` });
 *   await service.stop();
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../gateway/wiring/config.js';
import type { BannerFacts } from '../../gateway/wiring/banner.js';
import type { DevFacts } from '../../gateway/dev/facts.js';
import { createLog } from '../../gateway/ground/observe/log.js';
import { startService } from '../../gateway/wiring/service.js';
import { buildIndex } from '../../search-core/index/build.js';
import type { Page } from '../../search-core/page.js';

export interface TestService {
  readonly facts: BannerFacts;
  readonly gatewayUrl: string;
  readonly apiUrl: string;
  readonly opsUrl: string;
  readonly dev: DevFacts;
  readonly dataDir: string;
  /** `POST /search` at the gateway, with a JSON body unless a string is given. */
  search(
    body: unknown,
    headers?: Record<string, string>,
    options?: { url?: string; signal?: AbortSignal },
  ): Promise<Response>;
  stop(): Promise<void>;
}

/** Three pages about three things, so that a test knows what it finds. */
export const PAGES: readonly Page[] = [
  {
    url: 'https://pages.example/lighthouse',
    title: 'Keeping a lighthouse',
    text: 'A lighthouse keeper trims the lamp each evening. The lamp burns until the sun is up.',
  },
  {
    url: 'https://pages.example/bread',
    title: 'Sourdough bread',
    text: 'Flour, water and salt make bread. A starter keeps for years when it is fed every day.',
  },
  {
    url: 'https://pages.example/tides',
    title: 'Reading tide tables',
    text: 'Tide tables list high water and low water. The lighthouse lists them on its door.',
  },
];

export interface TestServiceOptions {
  /** Settings, as in the environment; ports are free ones and logs are off unless said. */
  readonly env?: Readonly<Record<string, string>>;
  readonly pages?: readonly Page[];
  /** Use, and keep, this folder instead of a fresh one. */
  readonly dataDir?: string;
}

export async function startTestService(options: TestServiceOptions = {}): Promise<TestService> {
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'search402-test-')));
  const env = {
    PORT: '0',
    API_PORT: '0',
    OPS_PORT: '0',
    DATA_DIR: dataDir,
    DEV_BLOCK_TIME_MS: '250',
    LOG_LEVEL: 'silent',
    ...options.env,
  };
  const isElsewhere = 'SEARCH_CORE_URL' in env || 'SEARCH_CORE_URLS' in env;
  if (!isElsewhere && options.dataDir === undefined) {
    await buildIndex(join(dataDir, 'index'), generate(options.pages ?? PAGES));
  }
  const config = readConfig(env, []);
  const service = await startService(config, createLog(config.LOG_LEVEL), (error) => {
    throw error;
  });
  const { gatewayUrl, apiUrl, opsUrl, dev } = service.facts;
  if (!dev) throw new Error('the test service needs the development chain');
  return {
    facts: service.facts,
    gatewayUrl,
    apiUrl,
    opsUrl,
    dev,
    dataDir,
    search: (body, headers = {}, { url = gatewayUrl, signal } = {}) =>
      fetch(`${url}/search`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
        ...(signal && { signal }),
      }),
    stop: async () => {
      await service.stop();
      if (options.dataDir === undefined) await rm(dataDir, { recursive: true, force: true });
    },
  };
}

// eslint-disable-next-line @typescript-eslint/require-await -- a page source is asynchronous
async function* generate(pages: readonly Page[]): AsyncGenerator<Page> {
  yield* pages;
}
