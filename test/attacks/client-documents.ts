import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { documentFetch } from '../../gateway/edge/oauth/documents.js';
import { startOauth } from '../support/oauth.js';
import type { AttackRow } from './row.js';

/** Spellings of this machine and of private networks, as a URL may have them. */
const SPELLINGS = [
  ...['localhost', 'localhost.', 'a.localhost', '127.0.0.1', '127.1', '127.255.255.254'],
  ...['0x7f.0.0.1', '0x7f000001', '2130706433', '017700000001', '0177.0.0.1', '0', '0.0.0.0'],
  ...['[::1]', '[::]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::127.0.0.1]'],
  ...['[64:ff9b::7f00:1]', '[fe80::1]', '[fc00::1]', '10.0.0.1', '192.168.0.1', '169.254.169.254'],
] as const;

/** Clients that are described at addresses which only this machine may reach. */
export async function clientDocuments(): Promise<readonly AttackRow[]> {
  let connected = 0;
  const target = createServer((socket) => {
    connected += 1;
    socket.destroy();
  });
  target.listen(0, '::');
  await once(target, 'listening');
  const { port } = target.address() as AddressInfo;
  const service = await startOauth();
  try {
    const spelled = await count(
      () => connected,
      () => askAll(service.origin, port),
    );
    const rebound = await count(
      () => connected,
      () => rebind(port),
    );
    return [
      {
        attack: 'Client descriptions at private addresses',
        tries: SPELLINGS.length,
        gotThrough: spelled,
        costToAttacker: 'one request each',
        costToUs: 'one look-up each, no connection',
      },
      {
        attack: 'Client descriptions at names that change their address',
        tries: REBINDINGS.length,
        gotThrough: rebound,
        costToAttacker: 'a name server',
        costToUs: 'one look-up each, no connection',
      },
    ];
  } finally {
    await service.close();
    target.close();
  }
}

async function count(read: () => number, work: () => Promise<void>): Promise<number> {
  const before = read();
  await work();
  return read() - before;
}

async function askAll(origin: string, port: number): Promise<void> {
  for (const spelling of SPELLINGS) {
    const url = new URL(`${origin}/oauth/authorize`);
    url.searchParams.set('client_id', `https://${spelling}:${port}/client.json`);
    url.searchParams.set('response_type', 'code');
    url.searchParams.set('redirect_uri', 'http://127.0.0.1:1/callback');
    await (await fetch(url, { redirect: 'manual' })).text();
  }
}

/** What a name server answers, question by question. */
const REBINDINGS: readonly (readonly (readonly string[])[])[] = [
  [['127.0.0.1']],
  [['192.0.2.1', '127.0.0.1']],
  [['::ffff:127.0.0.1']],
  [['::1'], ['93.184.215.14']],
  [[]],
];

async function rebind(port: number): Promise<void> {
  for (const answers of REBINDINGS) {
    let asked = 0;
    const resolve = () => Promise.resolve(answers[asked++] ?? ['127.0.0.1']);
    const fetchDocument = documentFetch(false, resolve);
    await fetchDocument(`https://client.example:${port}/client.json`).catch(() => undefined);
  }
}
