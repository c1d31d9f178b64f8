/** The front door over HTTP: `/` in its forms, the files beside it, and what it gives away. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { freeSearches } from '../../../gateway/customers/limits/free-searches.js';
import { createFreeSearch } from '../../../gateway/search/free.js';
import { realClock, realRandom } from '../../support/ports.js';
import { startTestService, type TestService } from '../../support/service.js';
import { until } from '../../support/until.js';

const HTML = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };
const FREE = 3;

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ env: { FREE_SEARCHES_PER_DAY: String(FREE) } });
});
afterAll(() => service.stop());

async function get(path: string, headers: Record<string, string> = {}, url = service.gatewayUrl) {
  const response = await fetch(url + path, { headers });
  return {
    status: response.status,
    headers: response.headers,
    type: response.headers.get('content-type') ?? '',
    text: await response.text(),
  };
}

describe('/', () => {
  test.each([
    ['a browser', HTML, 'text/html; charset=utf-8', '<!doctype html>'],
    ['a program', { accept: 'application/json' }, 'application/json; charset=utf-8', '{'],
    ['a reader of Markdown', { accept: 'text/markdown' }, 'text/markdown; charset=utf-8', '# '],
    ['curl', { accept: '*/*' }, 'text/markdown; charset=utf-8', '# '],
  ])('answers %s in its form', async (_who, headers, type, start) => {
    const reply = await get('/', headers);
    expect(reply.status).toBe(200);
    expect(reply.type).toBe(type);
    expect(reply.text.startsWith(start)).toBe(true);
    expect(reply.headers.get('vary')).toContain('Accept');
    expect(reply.headers.get('link')).toContain('</openapi.json>; rel="service-desc"');
  });

  test('says the price that the challenge asks, how large the index is, and where to go', async () => {
    const read = async () => {
      const { text } = await get('/', { accept: 'application/json' });
      return JSON.parse(text) as {
        price: { amount: string; payTo: string };
        index?: { pages: number };
        links: Record<string, string>;
      };
    };
    // A search-core that is too busy to say what it has is asked again.
    await until(async () => (await read()).index !== undefined);
    const facts = await read();
    const challenge = (await service.search({ query: 'a' })).headers.get('payment-required') ?? '';
    const { accepts } = JSON.parse(Buffer.from(challenge, 'base64').toString()) as {
      accepts: { amount: string; payTo: string }[];
    };
    expect(facts.price).toMatchObject({
      amount: accepts[0]?.amount,
      payTo: accepts[0]?.payTo,
    });
    expect(facts.index?.pages).toBe(3);
    expect(Object.keys(facts.links)).toEqual(
      expect.arrayContaining(['openapi', 'docs', 'console', 'mcp']),
    );
  });

  test('the page loads nothing from elsewhere and runs nothing inline', async () => {
    const { text, headers } = await get('/', HTML);
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self';/);
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(text).not.toMatch(/ on[a-z]+="| style="|<style|<script>/);
    expect(text).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
  });
});

describe('a search on the page', () => {
  test('shows results with their words marked, without a script, and counts down', async () => {
    const { text } = await get('/?q=sourdough+bread', HTML);
    expect(text).toContain('https://pages.example/bread');
    expect(text).toContain('<mark>bread</mark>');
    expect(text).toMatch(/<b>2<\/b> of 3 free today/);
  });

  test.each([
    ['a picture on another site', { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'image' }],
    ['a browser that only prepares', { 'sec-purpose': 'prefetch' }],
  ])('%s uses nothing up', async (_who, headers) => {
    const { text } = await get('/?q=bread', { ...HTML, ...headers });
    expect(text).toMatch(/<b>2<\/b> of 3 free today/);
    expect(text).not.toContain('pages.example/bread');
  });

  test('a form of markup stays text', async () => {
    const { text } = await get(`/?q=${encodeURIComponent('"><script>alert(1)</script>')}`, HTML);
    expect(text).not.toContain('<script>alert');
  });

  test('after the last one it says where to go on, and paying callers notice nothing', async () => {
    let page = '';
    for (let count = 0; count < FREE; count += 1) page = (await get('/?q=bread', HTML)).text;
    expect(page).toContain('You’ve used today’s free searches');
    expect(page).toContain('/console/sign-up');
    const keyed = await service.search(
      { query: 'bread' },
      { authorization: `Bearer ${service.dev.apiKey}` },
    );
    expect(keyed.status).toBe(200);
    await keyed.arrayBuffer();
  });

  test('is counted in the metrics under its own name', async () => {
    const metrics = await (await fetch(`${service.opsUrl}/metrics`)).text();
    expect(metrics).toMatch(/search402_searches_total\{payer="free",outcome="ok"\} [1-9]/);
  });
});

describe('what the page gives away', () => {
  const budgetAt = (perDay: number) => {
    const time = { ms: 0 };
    const clock = { ...realClock, monotonicMs: () => time.ms };
    return { time, budget: freeSearches(clock, perDay) };
  };

  test('comes back a day after it was used', () => {
    const { time, budget } = budgetAt(1);
    expect(budget.take('192.0.2.1')).toBe('taken');
    expect(budget.take('192.0.2.1')).toBe('used-up');
    time.ms = 24 * 3600 * 1000;
    expect(budget.take('192.0.2.1')).toBe('taken');
  });

  test('is bounded for all addresses together, and for an IPv6 site that has many', () => {
    const { time, budget } = budgetAt(100);
    const seen = Array.from({ length: 8 }, (_, index) => budget.take(`192.0.2.${index}`));
    expect(seen.filter((outcome) => outcome === 'taken')).toHaveLength(5);
    expect(seen.at(-1)).toBe('busy');
    const site = budgetAt(1);
    const taken = Array.from({ length: 100 }, (_, index) => {
      site.time.ms += 1000;
      return site.budget.take(`2001:db8:1:${index.toString(16)}::1`);
    });
    expect(taken.filter((outcome) => outcome === 'taken')).toHaveLength(2);
    expect(time.ms).toBe(0);
  });

  test('is nothing where the operator says so', () => {
    const none = freeSearches(realClock, 0);
    expect([none.remaining('192.0.2.1'), none.take('192.0.2.1')]).toEqual([0, 'used-up']);
  });

  test('never has more than two searches under way', async () => {
    const waiting: (() => void)[] = [];
    const free = createFreeSearch({
      run: (_request, { requestId }) =>
        new Promise((resolve) => {
          const result = { results: [], searchMetadata: { executionTime: 0 }, totalResults: 0 };
          const body = Buffer.from(JSON.stringify({ requestId, result }));
          waiting.push(() => resolve({ kind: 'answer', body, resultCount: 0 }));
        }),
      budget: freeSearches(realClock, 100),
      random: realRandom,
      clock: realClock,
      observe: () => undefined,
    });
    const { signal } = new AbortController();
    const running = [free.run('a', '192.0.2.1', signal), free.run('b', '192.0.2.2', signal)];
    expect(await free.run('c', '192.0.2.3', signal)).toEqual({ kind: 'busy' });
    for (const end of waiting.splice(0)) end();
    expect((await Promise.all(running)).map(({ kind }) => kind)).toEqual(['results', 'results']);
  });
});

describe('the files beside it', () => {
  test.each([
    ['/llms.txt', 'text/markdown; charset=utf-8', '# search402'],
    ['/robots.txt', 'text/plain; charset=utf-8', 'User-agent: *'],
    ['/.well-known/x402', 'application/json; charset=utf-8', '{"version":1'],
    ['/favicon.ico', 'image/svg+xml', '<svg'],
  ])('%s is there', async (path, type, start) => {
    const reply = await get(path);
    expect([reply.status, reply.type]).toEqual([200, type]);
    expect(reply.text.startsWith(start)).toBe(true);
  });

  test('every address that they name answers', async () => {
    const { text } = await get('/llms.txt');
    const paths = [...text.matchAll(/\]\(https?:\/\/[^/]+(\/[^)]*)\)/g)].map(([, path]) => path);
    expect(paths.length).toBeGreaterThan(4);
    for (const path of paths) {
      const { status } = await get(path ?? '', { accept: 'text/html' });
      expect([path, status === 404]).toEqual([path, false]);
    }
  });
});

describe('whoever is lost', () => {
  test.each(['/nothing', '/searches', '/.well-known/nothing'])(
    '%s is a 404 that names the documentation',
    async (path) => {
      const reply = await get(path);
      const body = JSON.parse(reply.text) as { code: string; detail: string };
      expect([reply.status, body.code]).toEqual([404, 'not_found']);
      expect(body.detail).toMatch(/\/docs\.$/);
      expect(reply.headers.get('link')).toContain('rel="service-doc"');
    },
  );

  test('a 401 names the place where keys are made', async () => {
    for (const headers of [{}, { authorization: 'Bearer s402_live_wrong' }]) {
      const reply = await get('/account', headers);
      const { detail } = JSON.parse(reply.text) as { detail: string };
      expect(reply.status).toBe(401);
      expect(detail).toMatch(/Keys are made at http:\/\/\S+\/console\/keys\.$/);
      expect(reply.headers.get('link')).toContain('/console/keys>; rel="help"');
    }
  });

  test.each(['/', '/llms.txt', '/robots.txt', '/favicon.ico', '/.well-known/x402', '/?q=bread'])(
    'on the keys-only address %s stays the 404 of the contract',
    async (path) => {
      const reply = await get(path, HTML, service.apiUrl);
      expect([reply.status, reply.type]).toEqual([404, 'application/json']);
      expect(Object.keys(JSON.parse(reply.text) as object).sort()).toEqual([
        'code',
        'detail',
        'requestId',
        'status',
        'title',
      ]);
    },
  );
});
