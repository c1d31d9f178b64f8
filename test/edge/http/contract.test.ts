import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { expectRefusal } from '../../support/errors.js';
import { judge } from '../../support/interface-document.js';
import { startTestService, type TestService } from '../../support/service.js';

let service: TestService;
let bearer: { authorization: string };

beforeAll(async () => {
  service = await startTestService({ env: { BODY_TIMEOUT_MS: '300' } });
  bearer = { authorization: `Bearer ${service.dev.apiKey}` };
});
afterAll(() => service.stop());

describe('a search that is good', () => {
  test('answers with the closed SearchResponse', async () => {
    const response = await service.search({ query: 'lighthouse' }, bearer);
    const body = (await response.json()) as {
      requestId: string;
      result: { results: object[]; searchMetadata: { executionTime: number } };
    };
    expect(response.status).toBe(200);
    expect(body).toEqual({
      requestId: response.headers.get('x-request-id'),
      result: {
        results: [
          expect.objectContaining({ url: 'https://pages.example/lighthouse' }),
          expect.objectContaining({ url: 'https://pages.example/tides' }),
        ],
        searchMetadata: { executionTime: expect.any(Number) },
        totalResults: 2,
      },
    });
    expect(Object.keys(body.result.results[0] ?? {}).sort()).toEqual([
      'description',
      'title',
      'url',
    ]);
    expect(response.headers.get('cache-control')).toBe('private, no-store');
  });

  test('takes its words, however much white space is between them', async () => {
    const response = await service.search({ query: '  bread\t\n flour ' }, bearer);
    expect(response.status).toBe(200);
  });

  test('takes the bounds themselves', async () => {
    const words = Array.from({ length: 50 }, () => 'lamp').join(' ');
    for (const more of [
      { maxResults: 1, maxDescriptionLength: 1000 },
      { maxResults: 20, maxDescriptionLength: 8000 },
    ]) {
      const response = await service.search({ query: words, ...more }, bearer);
      expect(response.status).toBe(200);
    }
  });
});

describe('422', () => {
  test('names an unsupported parameter, even where the query is missing too', async () => {
    const body = await expectRefusal(
      await service.search({ prompt: 'x' }, bearer),
      'unsupported_parameter',
    );
    expect(body.detail).toContain('"prompt"');
    expect(body.title).toBe('Unprocessable Content');
  });

  test.each([
    ['no query', {}, 'query'],
    ['a query that is no string', { query: 7 }, 'query'],
    ['a query without words', { query: ' \t ' }, 'query'],
    ['a query of 51 words', { query: Array.from({ length: 51 }, () => 'a').join(' ') }, 'query'],
    ['half a character', { query: 'a \ud800' }, 'query'],
    ['maxResults 0', { query: 'a', maxResults: 0 }, 'maxResults'],
    ['maxResults 21', { query: 'a', maxResults: 21 }, 'maxResults'],
    ['maxResults 1.5', { query: 'a', maxResults: 1.5 }, 'maxResults'],
    ['maxResults as text', { query: 'a', maxResults: '10' }, 'maxResults'],
    ['maxResults null', { query: 'a', maxResults: null }, 'maxResults'],
    ['999 characters', { query: 'a', maxDescriptionLength: 999 }, 'maxDescriptionLength'],
    ['8001 characters', { query: 'a', maxDescriptionLength: 8001 }, 'maxDescriptionLength'],
  ])('refuses %s and names the parameter', async (_what, request, name) => {
    const body = await expectRefusal(await service.search(request, bearer), 'invalid_parameter');
    expect(body.detail).toContain(`"${name}"`);
  });

  test.each(['[]', '"x"', '5', 'null', 'true'])('refuses %s as a body', async (text) => {
    await expectRefusal(await service.search(text, bearer), 'invalid_parameter');
  });

  test('keeps its reply small for a request with a thousand unknown names', async () => {
    const names = Array.from({ length: 400 }, (_, index) => [`${'n'.repeat(20)}${index}`, 1]);
    const response = await service.search(Object.fromEntries(names), bearer);
    expect(Number(response.headers.get('content-length'))).toBeLessThan(1000);
  });
});

describe('400', () => {
  test.each([
    ['broken JSON', '{"query":'],
    ['nothing', ''],
    ['two values', '{"query":"a"} {}'],
  ])('refuses %s', async (_what, text) => {
    await expectRefusal(await service.search(text, bearer), 'malformed_request');
  });

  test('refuses bytes that are not UTF-8', async () => {
    const response = await fetch(`${service.gatewayUrl}/search`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...bearer },
      body: Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]),
    });
    await expectRefusal(response, 'malformed_request');
  });

  test('refuses a key and a payment together', async () => {
    const both = { ...bearer, 'payment-signature': 'e30=' };
    await expectRefusal(await service.search({ query: 'a' }, both), 'ambiguous_credentials');
  });

  test('refuses a payment header sent twice', async () => {
    const reply = await raw(
      'POST /search HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n' +
        'PAYMENT-SIGNATURE: e30=\r\nPAYMENT-SIGNATURE: e30=\r\nContent-Length: 13\r\n\r\n' +
        '{"query":"a"}',
    );
    expect(reply).toMatch(/^HTTP\/1.1 400 /);
    expect(reply).toContain('"code":"malformed_payment"');
  });

  test.each(['!!!!', 'e30', 'eyJ4NDAyVmVyc2lvbiI6Mn0=', 'bnVsbA=='])(
    'refuses the payment header %s',
    async (value) => {
      const response = await service.search({ query: 'a' }, { 'payment-signature': value });
      await expectRefusal(response, 'malformed_payment');
    },
  );

  test('answers bad HTTP in the same shape', async () => {
    const reply = await raw('GARBAGE\r\n\r\n');
    expect(reply).toMatch(/^HTTP\/1.1 400 /);
    expect(reply).toContain('"code":"malformed_request"');
  });

  test('refuses a length and a transfer encoding together', async () => {
    const reply = await raw(
      'POST /search HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n' +
        'Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    );
    expect(reply).toMatch(/^HTTP\/1.1 400 /);
  });
});

describe('who asks', () => {
  test('401 for a key that does not exist, and it says how', async () => {
    for (const authorization of ['Bearer nonsense', 'Basic eDp5', 'Bearer ']) {
      const response = await service.search({ query: 'a' }, { authorization });
      expect(response.status).toBe(401);
      expect(response.headers.get('www-authenticate')).toMatch(/^Bearer/);
      expect(((await response.json()) as { code: string }).code).toMatch(/_api_key$/);
    }
  });

  test('a missing key is a quote at the gateway and a 401 at the API', async () => {
    const quote = await service.search({ query: 'a' });
    await expectRefusal(quote, 'payment_required');
    expect(quote.headers.get('payment-required')).toMatch(/^[A-Za-z0-9+/]+=*$/);
    const api = await service.search({ query: 'a' }, {}, { url: service.apiUrl });
    await expectRefusal(api, 'missing_api_key');
    expect(api.headers.get('payment-required')).toBeNull();
  });

  test('a payment is not looked at by the API', async () => {
    const payment = { 'payment-signature': 'e30=' };
    const response = await service.search({ query: 'a' }, payment, { url: service.apiUrl });
    await expectRefusal(response, 'missing_api_key');
  });

  test('a request that would fail anyway is told so before it is asked for money', async () => {
    await expectRefusal(await service.search({ query: '' }), 'invalid_parameter');
  });
});

describe('path, method, media type, size, time', () => {
  test.each(['/', '/Search', '/search/', '/search/x', '/%73earch/', '/v1/search'])(
    '404 for %s',
    async (path) => {
      const response = await fetch(`${service.gatewayUrl}${path}`, { method: 'POST' });
      await expectRefusal(response, 'not_found');
    },
  );

  test.each(['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])(
    '405 with Allow for %s',
    async (method) => {
      const response = await fetch(`${service.gatewayUrl}/search`, { method });
      await expectRefusal(response, 'method_not_allowed');
      expect(response.headers.get('allow')).toBe('POST');
    },
  );

  test('405 for HEAD, without a body', async () => {
    const response = await fetch(`${service.gatewayUrl}/search`, { method: 'HEAD' });
    expect(response.status).toBe(405);
  });

  test('a browser’s preflight is answered, and payment headers are exposed to pages', async () => {
    const preflight = await fetch(`${service.gatewayUrl}/search`, {
      method: 'OPTIONS',
      headers: { origin: 'https://page.example', 'access-control-request-method': 'POST' },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-headers')).toContain('PAYMENT-SIGNATURE');
    const response = await service.search({ query: 'a' }, { origin: 'https://page.example' });
    const exposed = response.headers.get('access-control-expose-headers');
    expect(exposed).toContain('PAYMENT-REQUIRED');
    expect(exposed).toContain('PAYMENT-RESPONSE');
  });

  test.each([
    ['text/plain', 'text/plain'],
    ['no charset but UTF-8', 'application/json; charset=latin1'],
    ['a form', 'application/x-www-form-urlencoded'],
  ])('415 for %s', async (_what, type) => {
    const response = await service.search('{"query":"a"}', { ...bearer, 'content-type': type });
    await expectRefusal(response, 'unsupported_media_type');
  });

  test('415 for a compressed body', async () => {
    const headers = { ...bearer, 'content-encoding': 'gzip' };
    const response = await service.search({ query: 'a' }, headers);
    await expectRefusal(response, 'unsupported_media_type');
  });

  test('413 beyond 16 KiB, also for ten megabytes', async () => {
    const atLimit = { query: 'a'.repeat(16_384 - 12) };
    expect((await service.search(atLimit, bearer)).status).toBe(200);
    const over = { query: 'a'.repeat(16_384 - 11) };
    await expectRefusal(await service.search(over, bearer), 'payload_too_large');
    const reply = await raw(
      'POST /search HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n' +
        `Content-Length: 10485760\r\n\r\n${' '.repeat(1_200_000)}`,
    );
    expect(reply).toMatch(/^HTTP\/1.1 413 /);
  });

  test('408 for a body that drips', async () => {
    const reply = await raw(
      'POST /search HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n' +
        'Content-Length: 13\r\n\r\n{"que',
    );
    expect(reply).toMatch(/^HTTP\/1.1 408 /);
    expect(reply).toContain('"code":"request_timeout"');
  });
});

test('every response has its own request id', async () => {
  const ids = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const response = await service.search({ query: 'lamp' });
      return response.headers.get('x-request-id');
    }),
  );
  expect(new Set(ids).size).toBe(20);
});

/** Writes these bytes to a connection and returns what comes back until it is closed. */
function raw(text: string): Promise<string> {
  const { port } = new URL(service.gatewayUrl);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), '127.0.0.1');
    let reply = '';
    const give = setTimeout(() => socket.destroy(), 5_000);
    socket.on('data', (chunk: Buffer) => {
      reply += chunk.toString('latin1');
      if (reply.includes('\r\n\r\n')) socket.end();
    });
    socket.on('error', (error) => {
      if (reply === '') reject(error);
    });
    socket.on('close', () => {
      clearTimeout(give);
      if (reply !== '') expectDocumented(reply);
      resolve(reply);
    });
    socket.write(text);
  });
}

/** What answers bad HTTP stands below the app, where the check around every test does not see it. */
function expectDocumented(reply: string): void {
  const [head = '', body = ''] = reply.split('\r\n\r\n');
  const [line = '', ...fields] = head.split('\r\n');
  const headers = Object.fromEntries(
    fields.map((field) => {
      const [name = '', value = ''] = field.split(': ');
      return [name.toLowerCase(), value] as const;
    }),
  );
  const status = Number(line.split(' ')[1]);
  const exchange = { method: 'POST', path: '/search', status, headers, body: Buffer.from(body) };
  expect([reply, judge(exchange)?.faults]).toEqual([reply, []]);
}
