import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { GOOD_KEY, startMcp, type ServiceUnderTest } from '../../support/mcp.js';

let open: ServiceUnderTest;
let keyed: ServiceUnderTest;
beforeAll(async () => {
  [open, keyed] = await Promise.all([startMcp(), startMcp({ face: 'api' })]);
});
afterAll(async () => {
  await Promise.all([open.close(), keyed.close()]);
});

const HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
};

function post(
  url: string,
  body: string | Buffer,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(url, { method: 'POST', body, headers: { ...HEADERS, ...headers } });
}

const call = (params: unknown, method = 'tools/call') =>
  JSON.stringify({ jsonrpc: '2.0', id: 7, method, params });

/** The one message of a reply, whether it came as JSON or as a stream of one event. */
async function message(response: Response): Promise<unknown> {
  const text = await response.text();
  const data = /^data: (\{.*)$/m.exec(text)?.[1];
  return JSON.parse(data ?? text);
}

describe('what is not the protocol gets the protocol’s error, and no search runs', () => {
  test.each([
    ['no JSON at all', '{"jsonrpc": "2.0", ', 400, -32_700],
    ['an empty body', '', 400, -32_700],
    ['bytes that are no UTF-8', Buffer.from([0x22, 0xff, 0x22]), 400, -32_700],
    ['a number', '5', 400, undefined],
    ['an empty batch', '[]', 400, undefined],
    ['brackets without an end', '['.repeat(16_000), 400, -32_700],
    ['nothing but brackets', '['.repeat(8000) + ']'.repeat(8000), 400, undefined],
    ['another version of JSON-RPC', '{"jsonrpc":"1.0","id":1,"method":"ping"}', 400, undefined],
    ['a message without a method', '{"jsonrpc":"2.0","id":1}', 400, undefined],
    ['an unknown method', call({}, 'tools/delete'), undefined, -32_601],
    ['a tool that is not there', call({ name: 'scrape', arguments: {} }), undefined, -32_602],
    [
      'arguments that are no object',
      call({ name: 'search', arguments: 'fox' }),
      undefined,
      -32_602,
    ],
    [
      'a prototype as arguments',
      '{"jsonrpc":"2.0","id":1,"method":"__proto__"}',
      undefined,
      -32_601,
    ],
  ])('%s', async (_name, body, status, code) => {
    const response = await post(open.url, body);
    expect(response.status).toBeLessThan(500);
    if (status !== undefined) expect(response.status).toBe(status);
    const answer = await message(response);
    expect(answer).toMatchObject({ jsonrpc: '2.0', error: { message: expect.any(String) } });
    if (code !== undefined) expect(answer).toMatchObject({ error: { code } });
    expect(open.searches).toEqual([]);
  });

  test('whatever is sent, in whatever revision, is answered, and never as a fault of ours', async () => {
    const word = fc.oneof(
      fc.constantFrom('tools/call', 'tools/list', 'initialize', 'search'),
      fc.string(),
    );
    const almost = fc.record(
      {
        jsonrpc: fc.oneof(fc.constant('2.0'), fc.jsonValue()),
        id: fc.oneof(fc.integer(), fc.jsonValue()),
        method: fc.oneof(word, fc.jsonValue()),
        params: fc.oneof(
          fc.record({ name: word, arguments: fc.jsonValue(), _meta: fc.jsonValue() }),
          fc.jsonValue(),
        ),
      },
      { requiredKeys: [] },
    );
    const bodies = fc.oneof(almost, fc.array(almost, { maxLength: 3 }), fc.jsonValue());
    const revision = fc.constantFrom('2025-06-18', '2025-11-25', '2026-07-28', '1900-01-01', 'x');
    await fc.assert(
      fc.asyncProperty(bodies, revision, async (body, version) => {
        const headers = { 'mcp-protocol-version': version, 'mcp-method': 'tools/call' };
        const response = await post(open.url, JSON.stringify(body), headers);
        expect(response.status).toBeLessThan(500);
        const text = await response.text();
        if (text !== '') expect(text).toContain('jsonrpc');
      }),
      { numRuns: 300 },
    );
    expect(open.payments).toEqual([]);
  });

  test('a body over the limit is 413', async () => {
    const response = await post(open.url, call({ name: 'search', padding: 'x'.repeat(20_000) }));
    expect(response.status).toBe(413);
    expect(await message(response)).toMatchObject({
      error: { data: { code: 'payload_too_large' } },
    });
  });

  test('another content type is 415', async () => {
    const response = await post(open.url, call({}), { 'content-type': 'text/plain' });
    expect(response.status).toBe(415);
    expect(await message(response)).toMatchObject({ jsonrpc: '2.0', id: null });
  });

  test.each(['GET', 'DELETE', 'PUT'])('%s is 405, as there are no sessions', async (method) => {
    const response = await fetch(open.url, { method, headers: { accept: 'text/event-stream' } });
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('POST');
  });

  test.each(['*/*', 'application/json, */*;q=0.1', 'text/html,*/*'])(
    'a client that accepts %s is answered',
    async (accept) => {
      const body = call({ name: 'search', arguments: { query: 'fox' } });
      const response = await post(open.url, body, { accept });
      expect(response.status).toBe(200);
      expect(await message(response)).toMatchObject({ id: 7, result: { isError: true } });
    },
  );

  test('a client that says nothing of what it accepts is answered', async () => {
    const headers = { 'content-type': HEADERS['content-type'] };
    const status = await new Promise((resolve, reject) => {
      const request = httpRequest(open.url, { method: 'POST', headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      request.on('error', reject).end(call({}, 'tools/list'));
    });
    expect(status).toBe(200);
  });

  test.each(['text/html', 'image/*', 'text/*/*'])(
    'a client that accepts %s is 406',
    async (accept) => {
      const response = await post(open.url, call({}, 'tools/list'), { accept });
      expect(response.status).toBe(406);
    },
  );

  test('a body that drips is 408', async () => {
    const { hostname, port } = new URL(open.url);
    const socket = connect(Number(port), hostname);
    socket.write(
      `POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{`,
    );
    const reply = await new Promise<string>((resolve) => {
      socket.once('data', (data) => resolve(data.toString()));
    });
    socket.destroy();
    expect(reply).toMatch(/^HTTP\/1\.1 408 /);
  });
});

describe('a web page may call', () => {
  const body = call({}, 'tools/list');
  test.each(['https://evil.example', 'null', 'not a url'])('not from %s', async (origin) => {
    const response = await post(open.url, body, { origin });
    expect(response.status).toBe(403);
    expect(response.headers.get('access-control-allow-origin')).toBeNull();
  });

  test.each(['http://localhost:6274', 'http://127.0.0.1', 'https://pages.example'])(
    'from %s, and may read what it gets',
    async (origin) => {
      const response = await post(open.url, body, { origin });
      expect(response.status).toBe(200);
      expect(response.headers.get('access-control-allow-origin')).toBe(origin);
      expect(response.headers.get('vary')).toContain('Origin');
      const headers = { origin, 'access-control-request-method': 'POST' };
      const preflight = await fetch(open.url, { method: 'OPTIONS', headers });
      expect(preflight.status).toBe(204);
      expect(preflight.headers.get('access-control-allow-headers')).toContain('Authorization');
    },
  );
});

describe('the keyed address', () => {
  const list = call({}, 'tools/list');

  test('answers 401 and says where the resource is described', async () => {
    const response = await post(keyed.url, list);
    expect(response.status).toBe(401);
    const metadata = keyed.url.replace('/mcp', '/.well-known/oauth-protected-resource/mcp');
    expect(response.headers.get('www-authenticate')).toBe(
      `Bearer scope="search", resource_metadata="${metadata}"`,
    );
  });

  test('calls a wrong credential an invalid token, on both faces', async () => {
    for (const { url } of [keyed, open]) {
      const response = await post(url, list, { authorization: 'Bearer wrong' });
      expect(response.status).toBe(401);
      expect(response.headers.get('www-authenticate')).toContain('error="invalid_token"');
      expect(await message(response)).toMatchObject({
        error: { data: { code: 'invalid_api_key' } },
      });
    }
  });

  test('does not take a payment in place of a key', async () => {
    const params = { name: 'search', arguments: { query: 'fox' }, _meta: { 'x402/payment': {} } };
    expect((await post(keyed.url, call(params))).status).toBe(401);
    expect(keyed.payments).toEqual([]);
  });

  test('searches with a key', async () => {
    const params = { name: 'search', arguments: { query: 'fox' } };
    const response = await post(keyed.url, call(params), { authorization: GOOD_KEY });
    expect(response.headers.get('cache-control')).toBe('private, no-store');
    expect(await message(response)).toMatchObject({
      result: { structuredContent: { result: { totalResults: 1 } } },
    });
  });
});

describe('a client that knows the extension org.x402/payment', () => {
  const extensions = { 'org.x402/payment': {} };
  const send = (url: string, method: string, params: object, meta: object = {}) => {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': { extensions },
      ...meta,
    };
    return post(url, call({ ...params, _meta }, method), {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(method === 'tools/call' && { 'mcp-name': 'search' }),
    });
  };
  const search = { name: 'search', arguments: { query: 'fox' } };

  test('is told that the server knows it too, and still sees the output’s schema', async () => {
    expect(await message(await send(open.url, 'server/discover', {}))).toMatchObject({
      result: { capabilities: { extensions } },
    });
    expect(await message(await send(open.url, 'tools/list', {}))).toMatchObject({
      result: { tools: [{ name: 'search', outputSchema: { type: 'object' } }] },
    });
  });

  test('gets the challenge as its result type, pays in the same place, and gets the receipt', async () => {
    const before = open.searches.length;
    const asked = await message(await send(open.url, 'tools/call', search));
    expect(asked).toMatchObject({
      result: {
        resultType: 'payment_required',
        paymentRequired: { x402Version: 2, accepts: [{ amount: '50' }] },
      },
    });
    expect(asked).not.toMatchObject({ result: { isError: true } });
    expect(open.searches).toHaveLength(before);
    const payment = { 'x402/payment': { x402Version: 2, payload: { signature: '0x00' } } };
    expect(await message(await send(open.url, 'tools/call', search, payment))).toMatchObject({
      result: {
        resultType: 'complete',
        structuredContent: { result: { totalResults: 1 } },
        _meta: { 'x402/payment-response': { success: true } },
      },
    });
  });

  test('hears of what a payment cannot mend as of any other error', async () => {
    const wrong = { name: 'search', arguments: { prompt: 'fox' } };
    expect(await message(await send(open.url, 'tools/call', wrong))).toMatchObject({
      result: { resultType: 'complete', isError: true, structuredContent: { status: 422 } },
    });
  });
});

test('who does not know the extension is never answered in its type', async () => {
  const answer = await message(
    await post(open.url, call({ name: 'search', arguments: { query: 'a' } })),
  );
  expect(answer).toMatchObject({ result: { isError: true, structuredContent: { accepts: [{}] } } });
  expect(answer).not.toMatchObject({ result: { paymentRequired: {} } });
});

test.each(['text', 5, null])('a payment that is %j is refused as malformed', async (payment) => {
  const params = {
    name: 'search',
    arguments: { query: 'fox' },
    _meta: { 'x402/payment': payment },
  };
  const answer = await message(await post(open.url, call(params)));
  expect(answer).toMatchObject({
    result: { isError: true, structuredContent: { status: 400, code: 'malformed_payment' } },
  });
});
