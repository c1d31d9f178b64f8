/** Clients that are described at their own address (OAuth client-id metadata documents). */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { CERTIFICATE, CERTIFICATE_KEY } from '../../support/certificate.js';
import {
  byHand,
  Desktop,
  REDIRECT_URI,
  signIn,
  signInV1,
  type SignInPlace,
} from '../../support/oauth-client.js';
import { browser } from '../../support/oauth.js';

const folder = mkdtempSync(join(tmpdir(), 'search402-documents-'));
const stops: (() => Promise<void>)[] = [];
/** Serves what describes a client, over real HTTPS; `answer` says how. */
const server = createServer({ cert: CERTIFICATE, key: CERTIFICATE_KEY }, (request, response) => {
  asked.push(request.url ?? '');
  answer(request, response);
});
let asked: string[] = [];
let answer: (request: IncomingMessage, response: ServerResponse) => void;
let home: string;
/** The authorization server as on a development start, and as on any other. */
let development: SignInPlace;
let guarded: SignInPlace;

beforeAll(async () => {
  writeFileSync(join(folder, 'ca.pem'), CERTIFICATE);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  home = `https://localhost:${(server.address() as AddressInfo).port}`;
  [development, guarded] = await Promise.all([start('private'), start('public')]);
});

afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await Promise.all(stops.map((stop) => stop()));
  rmSync(folder, { recursive: true, force: true });
});

async function start(reach: 'private' | 'public'): Promise<SignInPlace> {
  const program = join(import.meta.dirname, '../../support/oauth-process.js');
  const env = { ...process.env, NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem') };
  const child = spawn(process.execPath, [program, reach], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  stops.push(async () => {
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    await exited;
  });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return JSON.parse(line.toString()) as SignInPlace;
}

const send = (document: unknown, headers: Record<string, string> = {}) => {
  answer = (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(document));
  };
};

/** Descriptions are remembered by their address: each test describes a client of its own. */
let clients = 0;
let clientId: string;
let described: Record<string, unknown>;
beforeEach(() => {
  asked = [];
  clientId = `${home}/clients/${(clients += 1)}.json`;
  described = {
    client_id: clientId,
    client_name: 'Desktop',
    redirect_uris: [REDIRECT_URI],
    token_endpoint_auth_method: 'none',
  };
  send(described);
});

describe.each([
  ['2', signIn],
  ['1', signInV1],
] as const)('the official client of version %s', (_version, connect) => {
  test('signs in by the address of its description, and goes on when that is gone', async () => {
    const desktop = Object.assign(new Desktop(), { clientMetadataUrl: clientId });
    // As common clients do: no port is named, and it listens on one that is free.
    send({
      ...described,
      redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
    });
    const client = await connect(development, desktop);
    expect(desktop.saved.client).toMatchObject({ client_id: clientId });
    // The whole sign-in asked for the description once.
    expect(asked).toEqual([new URL(clientId).pathname]);
    answer = (_request, response) => void response.writeHead(500).end();
    const result = await client.callTool({ name: 'search', arguments: { query: 'fox' } });
    expect(result).toMatchObject({ structuredContent: { result: { totalResults: 1 } } });
    await client.close();
  });
});

test('the person sees where the description was read', async () => {
  const { asked: page, end } = await byHand(development).authorize({ client_id: clientId });
  expect(page.text).toContain(`described at <code>${new URL(home).host}</code>`);
  expect(new URL(end.url).searchParams.get('code')).toBeTruthy();
});

test('many who sign in at once ask for one description once', async () => {
  const hand = byHand(development);
  const ends = await Promise.all(
    Array.from({ length: 8 }, () => hand.authorize({ client_id: clientId })),
  );
  for (const { end } of ends) expect(new URL(end.url).searchParams.get('code')).toBeTruthy();
  expect(asked).toHaveLength(1);
});

describe('nobody is asked for consent when the description', () => {
  const lies: [string, () => void][] = [
    ['names another client', () => send({ ...described, client_id: `${home}/other.json` })],
    ['names no client', () => send({ ...described, client_id: undefined })],
    ['holds a secret', () => send({ ...described, client_secret: 'x' })],
    [
      'wants to sign in with a shared secret',
      () => send({ ...described, token_endpoint_auth_method: 'client_secret_basic' }),
    ],
    ['has another redirect', () => send({ ...described, redirect_uris: ['https://a.example/'] })],
    ['has no redirect', () => send({ ...described, redirect_uris: [] })],
    ['is a list', () => send([described])],
    ['is no JSON', () => (answer = (_request, response) => void response.end('<html>'))],
    ['is huge', () => send({ ...described, padding: 'x'.repeat(6000) })],
    [
      'is huge and does not say so',
      () => {
        answer = (_request, response) => {
          const more = setInterval(() => response.write(' '.repeat(4096)), 5);
          response.once('close', () => clearInterval(more));
        };
      },
    ],
    ['is not there', () => (answer = (_request, response) => void response.writeHead(404).end())],
    [
      'is elsewhere',
      () => {
        answer = (request, response) => {
          if (request.url === '/elsewhere') response.end(JSON.stringify(described));
          else response.writeHead(302, { location: `${home}/elsewhere` }).end();
        };
      },
    ],
  ];
  test.each(lies)('%s', async (_name, lie) => {
    lie();
    const { end } = await byHand(development).authorize({ client_id: clientId });
    expect(end).toMatchObject({ status: 400, text: expect.stringContaining('Connection failed') });
    // It is asked for once more to see whether the refusal may be told to the client.
    expect([...new Set(asked)]).toEqual([new URL(clientId).pathname]);
    expect(asked.length).toBeLessThanOrEqual(2);
  });

  test('is slow to begin or slow to end', async () => {
    answer = (request, response) => {
      if (request.url === '/silent.json') return;
      const more = setInterval(() => response.write(' '), 200);
      response.once('close', () => clearInterval(more));
    };
    const ids = [clientId, `${home}/silent.json`];
    const tries = ids.map((client_id) => byHand(development).authorize({ client_id }));
    for (const { end } of await Promise.all(tries)) expect(end.status).toBe(400);
  });

  test('was wrong; put right, it is read again', async () => {
    send({ ...described, client_id: 'https://other.example/' });
    await byHand(development).authorize({ client_id: clientId });
    send(described);
    const { end } = await byHand(development).authorize({ client_id: clientId });
    expect(new URL(end.url).searchParams.get('code')).toBeTruthy();
  });
});

describe('an address that is not fetched at all:', () => {
  const notAsked = async (place: SignInPlace, id: string) => {
    const url = new URL(`${place.origin}/oauth/authorize`);
    const params = { client_id: id, response_type: 'code', redirect_uri: REDIRECT_URI };
    for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value);
    const page = await browser(place.origin).visit(url.href);
    expect(page).toMatchObject({ status: 400, text: expect.stringContaining('Connection failed') });
    expect(asked).toEqual([]);
  };

  test('one of this machine, by name or by number, unless this is a development start', async () => {
    await notAsked(guarded, clientId);
    await notAsked(guarded, clientId.replace('localhost', '127.0.0.1'));
  });

  test.each(['http:', 'ftp:'])('%s', async (scheme) => {
    await notAsked(development, clientId.replace('https:', scheme));
  });

  test('one with a fragment, a user, or a way up', async () => {
    await notAsked(development, `${clientId}#a`);
    await notAsked(development, clientId.replace('localhost', 'user@localhost'));
    await notAsked(development, `${home}/a/../b.json`);
  });
});
