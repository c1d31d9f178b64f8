import { once } from 'node:events';
import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { acceptedEncoding, COMPRESSED_BYTES_MIN } from '../../../gateway/edge/http/encoding.js';
import { signPayment, transfersToPayee } from '../../support/pay.js';
import { startTestService, type TestService } from '../../support/service.js';

const LONG = 'The lighthouse keeper trims the lamp each evening and writes down the tide. ';

describe('which coding a caller gets', () => {
  test.each([
    [undefined, 'identity'],
    ['', 'identity'],
    ['gzip, deflate, br', 'br'],
    ['gzip, deflate', 'gzip'],
    ['x-gzip', 'gzip'],
    ['GZIP;Q=0.5', 'gzip'],
    ['*', 'br'],
    ['br;q=0, *', 'gzip'],
    ['br;q=0.2, gzip;q=0.8', 'gzip'],
    ['gzip;q=0', 'identity'],
    ['identity, gzip;q=0.5', 'identity'],
    ['zstd, deflate', 'identity'],
    ['br;q=2', 'identity'],
    ['br;q=no', 'identity'],
  ])('%j is answered with %s', (header, encoding) => {
    expect(acceptedEncoding(header)).toBe(encoding);
  });

  test('the rest of an endless header is not looked at', () => {
    expect(acceptedEncoding(`${'x,'.repeat(5000)}br`)).toBe('identity');
  });
});

describe('what goes over the wire', () => {
  let service: TestService;
  beforeAll(async () => {
    const pages = Array.from({ length: 10 }, (_, index) => ({
      url: `https://pages.example/${index}`,
      title: `Lighthouse ${index}`,
      text: `${LONG.repeat(40)} Number ${index}.`,
    }));
    service = await startTestService({ pages });
  });
  afterAll(() => service.stop());

  /** The bytes as they came, and as they were meant. */
  async function ask(
    path: string,
    { headers, body }: { headers: Record<string, string>; body?: unknown },
    url = service.gatewayUrl,
  ): Promise<{
    readonly status: number | undefined;
    readonly headers: IncomingHttpHeaders;
    readonly sent: Buffer;
    readonly text: string;
  }> {
    const method = body === undefined ? 'GET' : 'POST';
    const request = httpRequest(url + path, { method, headers, agent: false });
    request.end(body === undefined ? undefined : JSON.stringify(body));
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    const sent = await buffer(response);
    const coding = response.headers['content-encoding'];
    const plain =
      coding === 'br' ? brotliDecompressSync(sent) : coding === 'gzip' ? gunzipSync(sent) : sent;
    return {
      status: response.statusCode,
      headers: response.headers,
      sent,
      text: plain.toString('utf8'),
    };
  }

  const search = (headers: Record<string, string>, query = 'lighthouse keeper') =>
    ask('/search', {
      headers: { 'content-type': 'application/json', ...headers },
      body: { query },
    });
  const keyed = () => ({ authorization: `Bearer ${service.dev.apiKey}` });

  test.each(['br', 'gzip'])('results are less than half as long in %s', async (coding) => {
    const plain = await search(keyed());
    expect(plain.headers['content-encoding']).toBeUndefined();
    const reply = await search({ ...keyed(), 'accept-encoding': coding });
    expect(reply.headers).toMatchObject({
      'content-encoding': coding,
      'content-length': String(reply.sent.length),
      vary: 'Accept-Encoding',
    });
    expect(reply.sent.length).toBeLessThan(plain.sent.length / 2);
    const results = (text: string) =>
      (JSON.parse(text) as { result: { results: object[] } }).result.results;
    expect(results(reply.text)).toEqual(results(plain.text));
    expect(results(reply.text)).toHaveLength(10);
  });

  test('a payment that is presented in three codings gets one reply, byte for byte, for one transfer', async () => {
    const before = (await transfersToPayee(service)).length;
    const body = { query: 'lighthouse tide' };
    const payment = { 'payment-signature': await signPayment(service, body) };
    const replies = [];
    for (const coding of ['br', 'gzip', 'identity']) {
      replies.push(await search({ ...payment, 'accept-encoding': coding }, body.query));
    }
    expect(replies.map(({ headers }) => headers['content-encoding'])).toEqual([
      'br',
      'gzip',
      undefined,
    ]);
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(new Set(replies.map(({ text }) => text)).size).toBe(1);
    expect(new Set(replies.map(({ headers }) => headers['payment-response'])).size).toBe(1);
    expect((await transfersToPayee(service)).length - before).toBe(1);
  });

  test('one Idempotency-Key gets one reply in every coding, for one credit', async () => {
    const balance = async () =>
      (
        JSON.parse((await ask('/account', { headers: keyed() })).text) as {
          credits: { available: number };
        }
      ).credits.available;
    const before = await balance();
    const first = await search({ ...keyed(), 'idempotency-key': 'k1', 'accept-encoding': 'br' });
    const second = await search({ ...keyed(), 'idempotency-key': 'k1' });
    expect(second.text).toBe(first.text);
    expect(before - (await balance())).toBe(1);
  });

  test('short replies, and refusals among them, go out as they are', async () => {
    const reply = await search({ 'accept-encoding': 'br, gzip' });
    expect(reply.status).toBe(402);
    expect(reply.sent.length).toBeLessThan(COMPRESSED_BYTES_MIN);
    expect(reply.headers['content-encoding']).toBeUndefined();
    expect(JSON.parse(reply.text)).toMatchObject({ code: 'payment_required' });
  });

  test.each(['br', 'gzip'])('the tool protocol answers a call in %s', async (coding) => {
    const message = {
      ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
      params: { name: 'search', arguments: { query: 'lighthouse keeper' } },
    };
    const headers = {
      ...keyed(),
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-06-18',
      'accept-encoding': coding,
    };
    const reply = await ask('/mcp', { headers, body: message });
    expect(reply.status).toBe(200);
    expect(reply.text).toContain('Lighthouse 3');
    expect(reply.headers['content-encoding']).toBe(coding);
    expect(reply.sent.length).toBeLessThan(reply.text.length / 2);
  });

  test('documents are compressed on both faces, each coding of the same text', async () => {
    for (const url of [service.gatewayUrl, service.apiUrl]) {
      for (const path of ['/openapi.json', '/docs/api']) {
        const plain = await ask(path, { headers: {} }, url);
        for (const coding of ['br', 'gzip']) {
          const reply = await ask(path, { headers: { 'accept-encoding': coding } }, url);
          expect([path, reply.headers['content-encoding']]).toEqual([path, coding]);
          expect(reply.text).toBe(plain.text);
          expect(reply.sent.length).toBeLessThan(plain.sent.length / 4);
        }
      }
    }
  });

  test('what a page loads is compressed, and kept for a year under the address of its content', async () => {
    const page = await ask('/docs', { headers: {} });
    const paths = [...page.text.matchAll(/(?:src|href)="(\/docs\/assets\/[^"]+)"/g)].map(
      ([, path = '']) => path,
    );
    expect(paths.length).toBeGreaterThan(3);
    for (const path of paths) {
      const file = await ask(path, { headers: { 'accept-encoding': 'br' } });
      expect(file.status).toBe(200);
      expect(file.headers['cache-control']).toBe('public, max-age=31536000, immutable');
      // Fonts are compressed as they are.
      if (file.text.length >= COMPRESSED_BYTES_MIN && !path.endsWith('.woff2'))
        expect(file.headers['content-encoding']).toBe('br');
      // A page of another release, while gateways are replaced one by one.
      const other = await ask(path.replace(/assets\/\w+/, 'assets/0123456789abcdef'), {
        headers: {},
      });
      expect(other.text).toBe(file.text);
      expect(other.headers['cache-control']).toBe('no-cache');
    }
  });
});
