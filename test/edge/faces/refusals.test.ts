/** Every refusal there is, in the form of each face; the pipeline and the door are stand-ins. */
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createFaces, facesRefusals } from '../../../gateway/edge/faces/listener.js';
import { createDoor } from '../../../gateway/edge/http/door.js';
import {
  REFUSALS,
  refuse,
  type Refusal,
  type RefusalCode,
} from '../../../gateway/ground/domain/refusal.js';
import type { Search } from '../../../gateway/search/pipeline.js';
import { refused } from '../../../gateway/search/reply.js';
import { realClock, realRandom, silentLog } from '../../support/ports.js';

let answer: Search = () => Promise.reject(new Error('no answer is set'));
let objection: Refusal | undefined;
let server: Server;
let url: string;
beforeAll(async () => {
  const faces = createFaces({
    search: (call) => answer(call),
    bodyLimits: { bytesMax: 1024, timeoutMs: 5000 },
    trustedProxies: 0,
    clock: realClock,
    random: realRandom,
    log: silentLog,
  });
  const door: RequestListener = createDoor({
    listener: faces,
    work: { objection: () => objection, bill: () => undefined },
    random: realRandom,
    clock: realClock,
    trustedProxies: 0,
    writeRefusal: facesRefusals(realClock),
  });
  server = createServer(door);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => void server.close());
beforeEach(() => {
  objection = undefined;
});

const FACES = {
  SearXNG: { path: '/search?q=x&format=json', init: {} },
  Tavily: {
    path: '/search',
    init: {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query: 'x' }),
    },
  },
  Brave: { path: '/res/v1/web/search?q=x', init: {} },
} as const;
type Name = keyof typeof FACES;
const NAMES = Object.keys(FACES) as Name[];

const ask = async (name: Name) => {
  const { path, init } = FACES[name];
  const response = await fetch(url + path, init);
  const body: unknown = await response.json();
  return { status: response.status, headers: response.headers, body };
};

/** The shape in which a client of the service reads an error. */
const SHAPES: Readonly<Record<Name, (status: number) => object>> = {
  SearXNG: () => ({ error: expect.any(String) }),
  Tavily: () => ({ detail: { error: expect.any(String) } }),
  Brave: (status) => ({
    type: 'ErrorResponse',
    error: {
      ...{ id: expect.any(String), code: expect.any(String), detail: expect.any(String) },
      ...{ meta: expect.any(Object), status },
    },
    time: expect.any(Number),
  }),
};

const CODES = Object.keys(REFUSALS) as RefusalCode[];

describe.each(NAMES)('%s', (name) => {
  test('says each refusal in its own shape, as an error, with when to come back', async () => {
    for (const code of CODES) {
      const refusal = refuse(code, `It is ${code}.`, { retryAfterSeconds: 7 });
      answer = ({ requestId }) => Promise.resolve(refused(requestId, refusal));
      const { status, headers, body } = await ask(name);
      expect(status).toBeGreaterThanOrEqual(400);
      expect(body).toEqual(SHAPES[name](status));
      expect(headers.get('retry-after')).toBe('7');
      expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
      expect(headers.get('payment-required')).toBeNull();
    }
  });

  test('says a bug and a database out of reach in its own shape', async () => {
    answer = () => Promise.reject(new Error('a bug'));
    const bug = await ask(name);
    expect([bug.status, bug.body]).toEqual([500, SHAPES[name](500)]);
    const down = Object.assign(new Error('down'), {
      refusal: refuse('service_unavailable', 'No.'),
    });
    answer = () => Promise.reject(down);
    const unavailable = await ask(name);
    expect([unavailable.status, unavailable.body]).toEqual([503, SHAPES[name](503)]);
  });

  test('says at the door in its own shape that an address has asked too much', async () => {
    objection = refuse('rate_limited', 'Too much.', { retryAfterSeconds: 2 });
    const { status, headers, body } = await ask(name);
    expect([status, body]).toEqual([429, SHAPES[name](429)]);
    expect(headers.get('retry-after')).toBe('2');
    expect(headers.get('connection')).toBe('close');
  });
});

/** The statuses by which clients tell what to do. */
test.each([
  ['insufficient_credits', { SearXNG: 402, Tavily: 432, Brave: 429 }],
  ['invalid_api_key', { SearXNG: 401, Tavily: 401, Brave: 422 }],
  ['account_suspended', { SearXNG: 403, Tavily: 403, Brave: 403 }],
  ['invalid_parameter', { SearXNG: 400, Tavily: 400, Brave: 422 }],
  ['rate_limited', { SearXNG: 429, Tavily: 429, Brave: 429 }],
  ['upstream_timeout', { SearXNG: 504, Tavily: 504, Brave: 504 }],
] as const)('%s has the status that each service gives it', async (code, statuses) => {
  answer = ({ requestId }) => Promise.resolve(refused(requestId, refuse(code, 'No.')));
  const seen = await Promise.all(NAMES.map(async (name) => [name, (await ask(name)).status]));
  expect(Object.fromEntries(seen)).toEqual(statuses);
});

test('the rate stands where clients of Brave look for it', async () => {
  const rate = { policy: 'search', limit: 20, windowSeconds: 1, remaining: 0, resetSeconds: 1 };
  answer = ({ requestId }) =>
    Promise.resolve({ ...refused(requestId, refuse('rate_limited', 'Slowly.')), rate });
  const { headers } = await ask('Brave');
  expect(headers.get('x-ratelimit-limit')).toBe('20');
  expect(headers.get('x-ratelimit-remaining')).toBe('0');
  expect(headers.get('ratelimit')).toBe('"search";r=0;t=1');
});

test('a body that is too long is refused in the face’s shape, whatever the form', async () => {
  const long = 'x'.repeat(2000);
  const form = await fetch(`${url}/search`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: `q=${long}&format=json`,
  });
  expect([form.status, await form.json()]).toEqual([413, SHAPES.SearXNG(413)]);
  const body = await fetch(`${url}/search`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query: long }),
  });
  expect([body.status, await body.json()]).toEqual([413, SHAPES.Tavily(413)]);
});
