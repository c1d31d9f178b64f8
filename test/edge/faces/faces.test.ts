/**
 * The faces over the whole service. The requests are those that the clients named in each test sent
 * when they were run by hand against it: method, path, headers and fields.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Page } from '../../../search-core/page.js';
import { startTestService, type TestService } from '../../support/service.js';

/** Twelve pages about one thing, so that there is a second page of results; some by domain. */
const PAGES: readonly Page[] = Array.from({ length: 12 }, (_, index) => ({
  url: `https://${index % 3 === 0 ? 'docs' : 'www'}.harbour${index % 2}.example/page/${index}`,
  title: `Harbour ${index}`,
  text: `Pilots bring ships into harbour number ${index}. `.repeat(60),
}));

let service: TestService;
let faces: string;
let key: string;
beforeAll(async () => {
  service = await startTestService({ pages: PAGES, env: { FACES_PORT: '0' } });
  faces = service.facts.facesUrl ?? '';
  key = service.dev.apiKey;
});
afterAll(() => service.stop());

const json = async (path: string, init: RequestInit = {}) => {
  const response = await fetch(`${faces}${path}`, init);
  return { status: response.status, headers: response.headers, body: await response.json() };
};
const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  json(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
const bearer = () => ({ authorization: `Bearer ${key}` });
const token = () => ({ 'x-subscription-token': key });

/** Credits that are left to the account of the key. */
const credits = async () => {
  const response = await fetch(`${service.apiUrl}/account`, { headers: bearer() });
  return ((await response.json()) as { credits: { available: number } }).credits.available;
};

interface Searxng {
  results: { url: string; title: string; content: string; score: number; positions: number[] }[];
  error?: string;
}
interface Tavily {
  results: { url: string; title: string; content: string; score: number; raw_content: null }[];
  detail?: { error: string };
}
interface Brave {
  query: { more_results_available: boolean };
  web: { results: { url: string; title: string; description: string }[] };
  error?: { code: string; status: number; meta: unknown };
}

describe('SearXNG', () => {
  /** Open WebUI (retrieval/web/searxng.py) and LangChain's SearxSearchWrapper. */
  const OPEN_WEBUI =
    'q=harbour+pilots&format=json&pageno=1&safesearch=1&language=en-US&time_range=&categories=' +
    '&theme=simple&image_proxy=0';

  test('a search of Open WebUI gets results in SearXNG’s shape, with the key in the address', async () => {
    const before = await credits();
    const { status, body } = await json(`/${key}/search?${OPEN_WEBUI}`, {
      headers: { accept: 'text/html', 'user-agent': 'Open WebUI RAG Bot' },
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      query: 'harbour pilots',
      number_of_results: 10,
      answers: [],
      corrections: [],
      infoboxes: [],
      suggestions: [],
      unresponsive_engines: [],
    });
    const { results } = body as Searxng;
    expect(results).toHaveLength(10);
    expect(results[0]).toMatchObject({
      engine: 'search402',
      engines: ['search402'],
      category: 'general',
      positions: [1],
      score: 1,
    });
    expect(results[0]?.content.length).toBeLessThanOrEqual(1000);
    expect(results.map(({ score }) => score)).toEqual(
      results.map(({ score }) => score).toSorted((a, b) => b - a),
    );
    expect(await credits()).toBe(before - 1);
  });

  test('the second page goes on where the first ended, and the third has nothing', async () => {
    const page = async (pageno: number) =>
      ((await json(`/${key}/search?q=harbour&format=json&pageno=${pageno}`)).body as Searxng)
        .results;
    const [first, second, third] = [await page(1), await page(2), await page(3)];
    expect(second.map(({ positions }) => positions[0])).toEqual([11, 12]);
    expect(new Set([...first, ...second].map(({ url }) => url)).size).toBe(12);
    expect(third).toEqual([]);
  });

  test('an n8n node’s search, a POST without a body, is SearXNG’s', async () => {
    const query = 'q=harbour&format=json&numResults=10&pageNumber=1&language=en&safesearch=0';
    const { status, body } = await json(`/${key}//search?${query}`, {
      method: 'POST',
      headers: { accept: 'application/json' },
    });
    expect(status).toBe(200);
    expect((body as Searxng).results).toHaveLength(10);
  });

  test('a form at / and a password in the address are taken, as LangChain and curl send them', async () => {
    const basic = `Basic ${Buffer.from(`any:${key}`).toString('base64')}`;
    const form = await json('/', {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', authorization: basic },
      body: 'q=harbour+%21gh+%3Aen&format=json',
    });
    expect((form.body as Searxng).results).toHaveLength(10);
    const bare = await json('/?q=harbour&format=json', { headers: bearer() });
    expect((bare.body as Searxng).results).toHaveLength(10);
  });

  test.each([
    ['q=&format=json', 400, 'No query'],
    ['q=harbour', 403, 'Only format=json is enabled.'],
    ['q=harbour&format=rss', 403, 'Only format=json is enabled.'],
    ['q=harbour&format=json&pageno=0', 400, 'Invalid value "0" for parameter pageno'],
    ['q=harbour&format=json&time_range=1h', 400, 'Invalid value "1h" for parameter time_range'],
    ['q=harbour&format=json&safesearch=5', 400, 'Invalid value "5" for parameter safesearch'],
  ])('%s is refused as SearXNG does, and costs nothing', async (query, status, error) => {
    const before = await credits();
    const reply = await json(`/${key}/search?${query}`);
    expect([reply.status, reply.body]).toEqual([status, { error }]);
    expect(await credits()).toBe(before);
  });

  test('without a key it says where to put one', async () => {
    const { status, body } = await json('/search?q=harbour&format=json');
    expect(status).toBe(401);
    expect((body as Searxng).error).toContain('http://HOST/s402_live_…/search');
  });
});

describe('Tavily', () => {
  test('a search of tavily-python gets results in Tavily’s shape', async () => {
    const { status, body } = await post(
      '/search',
      { query: 'harbour pilots', search_depth: 'advanced', max_results: 3, include_usage: true },
      { ...bearer(), 'x-client-source': 'tavily-python' },
    );
    expect(status).toBe(200);
    expect(body).toMatchObject({
      query: 'harbour pilots',
      follow_up_questions: null,
      answer: null,
      images: [],
      usage: { credits: 1 },
      response_time: expect.any(Number),
      request_id: expect.any(String),
    });
    const { results } = body as Tavily;
    expect(results).toHaveLength(3);
    expect(results[0]).toMatchObject({ score: 1, raw_content: null });
    expect(results[0]?.content.length).toBeGreaterThan(1000);
    expect(results[0]?.content.length).toBeLessThanOrEqual(3000);
  });

  test('the key may stand in the body, as Open WebUI sends it, and results are 5 unless asked', async () => {
    const { body } = await post('/search', { query: 'harbour', api_key: key });
    expect((body as Tavily).results).toHaveLength(5);
    expect((body as Tavily).results.every(({ content }) => content.length <= 1000)).toBe(true);
    expect((body as Tavily).results.every(({ score }) => score > 0.5)).toBe(true);
  });

  test('include_domains and exclude_domains are kept to', async () => {
    const search = async (fields: object) =>
      (
        (await post('/search', { query: 'harbour', max_results: 20, ...fields }, bearer()))
          .body as Tavily
      ).results;
    const hosts = async (fields: object) =>
      [...new Set((await search(fields)).map(({ url }) => new URL(url).hostname))].toSorted();
    expect(await hosts({ include_domains: ['harbour0.example'] })).toEqual([
      'docs.harbour0.example',
      'www.harbour0.example',
    ]);
    expect(await hosts({ include_domains: ['https://docs.harbour1.example/page'] })).toEqual([
      'docs.harbour1.example',
    ]);
    expect(await hosts({ exclude_domains: ['*.harbour0.example'] })).toEqual([
      'docs.harbour1.example',
      'www.harbour1.example',
    ]);
    expect(await search({ include_domains: ['our0.example'] })).toEqual([]);
    // Open WebUI's domain filter.
    const { body } = await post(
      '/search',
      { query: 'site:docs.harbour1.example harbour' },
      bearer(),
    );
    expect((body as Tavily).results).toHaveLength(2);
  });

  test.each([
    [{}, 'Query is missing.'],
    [{ query: '' }, 'Query is missing.'],
    [{ query: 'x', topic: 'weather' }, "Invalid topic. Must be 'general', 'news' or 'finance'."],
    [{ query: 'x', max_results: 21 }, 'Invalid max_results. Must be an integer from 0 to 20.'],
    [{ query: 'a '.repeat(60) }, 'The parameter "query" must hold at most 50 words.'],
  ])('%j is refused as Tavily does, and costs nothing', async (fields, error) => {
    const before = await credits();
    const { status, body } = await post('/search', fields, bearer());
    expect([status, body]).toEqual([400, { detail: { error } }]);
    expect(await credits()).toBe(before);
  });

  test('a body that is no JSON, or has another type, is refused in Tavily’s shape', async () => {
    const headers = { ...bearer(), 'content-type': 'application/json' };
    const broken = await json('/search', { method: 'POST', headers, body: '{' });
    expect([broken.status, broken.body]).toEqual([
      400,
      { detail: { error: 'The body isn’t valid JSON.' } },
    ]);
    const text = await json('/search', { method: 'POST', headers: bearer(), body: 'harbour' });
    expect(text.status).toBe(400);
    expect(text.body).toMatchObject({ detail: { error: expect.any(String) } });
  });

  test('a bad key is Tavily’s 401, and two keys are refused', async () => {
    const bad = await post('/search', { query: 'x' }, { authorization: 'Bearer tvly-x' });
    expect([bad.status, bad.body]).toEqual([
      401,
      { detail: { error: 'Unauthorized: missing or invalid API key.' } },
    ]);
    const two = await post('/search', { query: 'x', api_key: 'tvly-other' }, bearer());
    expect(two.status).toBe(400);
    const twice = await post('/search', { query: 'harbour', api_key: key }, bearer());
    expect(twice.status).toBe(200);
  });

  test.each(['extract', 'crawl', 'map', 'research'])('%s is refused clearly', async (path) => {
    const { status, body } = await post(`/${path}`, { urls: ['https://a.example'] }, bearer());
    expect(status).toBe(403);
    expect((body as Tavily).detail?.error).toContain('does not fetch pages');
  });
});

describe('Brave', () => {
  test('a search of Brave’s MCP server gets results in Brave’s shape', async () => {
    const query = 'q=harbour+pilots&country=US&search_lang=en&count=5&safesearch=moderate';
    const { status, headers, body } = await json(`/res/v1/web/search?${query}`, {
      headers: { accept: 'application/json', 'accept-encoding': 'gzip', ...token() },
    });
    expect(status).toBe(200);
    expect(headers.get('content-encoding')).toBe('gzip');
    expect(body).toMatchObject({
      type: 'search',
      query: { original: 'harbour pilots', more_results_available: true },
      web: { type: 'search' },
    });
    const { results } = (body as Brave).web;
    expect(results).toHaveLength(5);
    expect(results[0]).toMatchObject({
      type: 'search_result',
      title: expect.stringContaining('Harbour'),
      meta_url: { scheme: 'https' },
    });
  });

  test('offset counts pages of count results', async () => {
    const page = async (offset: number) =>
      (await json(`/res/v1/web/search?q=harbour&count=8&offset=${offset}`, { headers: token() }))
        .body as Brave;
    const [first, second] = [await page(0), await page(1)];
    expect(first.query.more_results_available).toBe(true);
    expect(second.query.more_results_available).toBe(false);
    const urls = [...first.web.results, ...second.web.results].map(({ url }) => url);
    expect(new Set(urls).size).toBe(12);
  });

  test('LiteLLM’s domain filter, written into the query, is kept to', async () => {
    const q = '(harbour) AND (site:docs.harbour0.example OR site:docs.harbour1.example)';
    const { body } = await json(`/res/v1/web/search?q=${encodeURIComponent(q)}`, {
      headers: token(),
    });
    const hosts = (body as Brave).web.results.map(({ url }) => new URL(url).hostname);
    expect(hosts).toHaveLength(4);
    expect(hosts.every((host) => host.startsWith('docs.'))).toBe(true);
  });

  test.each([
    ['', {}, 'VALIDATION'],
    ['q=x&count=21', {}, 'VALIDATION'],
    ['q=x&offset=10', {}, 'VALIDATION'],
    ['q=x', {}, 'VALIDATION'],
    ['q=x', { 'x-subscription-token': 'BSAx' }, 'SUBSCRIPTION_TOKEN_INVALID'],
  ])('%s with %j is Brave’s 422 %s', async (query, headers, code) => {
    const { status, body } = await json(`/res/v1/web/search?${query}`, { headers });
    expect(status).toBe(422);
    expect(body).toMatchObject({ type: 'ErrorResponse', error: { code, status: 422 } });
  });

  test('other kinds of search are what no plan includes', async () => {
    const { status, body } = await json('/res/v1/news/search?q=x', { headers: token() });
    expect(status).toBe(400);
    expect((body as Brave).error?.code).toBe('OPTION_NOT_IN_PLAN');
  });
});

describe('every face', () => {
  test('refuses another method, and an unknown path, and never asks for a payment', async () => {
    expect((await json('/search', { method: 'PUT' })).status).toBe(405);
    expect((await json('/res/v1/web/search', { method: 'DELETE' })).status).toBe(405);
    expect((await json('/mcp')).status).toBe(404);
    const challenge = await post('/search', { query: 'x' });
    expect(challenge.status).toBe(401);
    expect(challenge.headers.get('payment-required')).toBeNull();
  });

  test('can be called by a page of any origin', async () => {
    const { status, headers } = await fetch(`${faces}/search`, {
      method: 'OPTIONS',
      headers: { origin: 'https://a.example', 'access-control-request-method': 'POST' },
    });
    expect(status).toBe(204);
    expect(headers.get('access-control-allow-origin')).toBe('*');
  });

  test('the contract’s addresses keep their 404s', async () => {
    for (const url of [service.gatewayUrl, service.apiUrl]) {
      expect((await fetch(`${url}/res/v1/web/search?q=x`)).status).toBe(404);
      expect((await fetch(`${url}/search?q=x&format=json`)).status).toBe(405);
      expect((await fetch(`${url}/extract`, { method: 'POST' })).status).toBe(404);
    }
  });
});
