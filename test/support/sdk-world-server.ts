/**
 * Worlds for SDKs in other languages: a gateway and a fault proxy each, made and steered over HTTP.
 * Prints its address in one line and lives until its standard input ends.
 *
 * - `POST /worlds` makes one: `{ id, url }`.
 * - `POST /worlds/ID` with any of `faults`, `moves` (appended) and `terms` (replaced).
 * - `GET /worlds/ID` tells what was `seen` by the proxy and the `transfers` of the gateway.
 * - `POST /real` starts the real service with a local chain behind a proxy, once: `{ id, url, dev }`;
 *   its `transfers` are transaction hashes from the chain's logs.
 * - `POST /channels` makes a gateway that sells by channels: `{ id, url }`. `POST /worlds/ID` with
 *   `ends` says how the next searches end (`ok`, `fail`, `lose`); `GET` tells its books.
 * - `POST /sign` with `privateKey` and `typedData` answers with viem's `signature`.
 */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Hex, TypedDataDefinition } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { startChannelGateway, type ChannelGateway } from './channel-gateway.js';
import { startFaultProxy, type Fault, type FaultProxy } from './fault-proxy.js';
import { startRealWorld, type RealWorld } from './sdk-real.js';
import { startTestGateway, type Move, type TestGateway } from './sdk-gateway.js';

interface Books {
  readonly exact: number;
  readonly charged: number;
  readonly signed: number;
  readonly balance: number;
  readonly deposits: readonly number[];
  readonly values: readonly number[];
}

/** A gateway that sells by channels, and how it is steered. */
interface ChannelWorld {
  readonly gateway: ChannelGateway;
  readonly ends: ('ok' | 'fail' | 'lose')[];
}
const channelWorlds = new Map<string, ChannelWorld>();

function booksOf({ gateway }: ChannelWorld): Books {
  const [books] = gateway.channels.values();
  const { charged = 0n, signed = 0n, balance = 0n } = books ?? {};
  return {
    exact: gateway.exact,
    ...{ charged: Number(charged), signed: Number(signed), balance: Number(balance) },
    deposits: gateway.deposits.map(Number),
    values: gateway.presented.map(({ value }) => Number(value)),
  };
}

async function startChannelWorld(): Promise<object> {
  const gateway = await startChannelGateway();
  const ends: ChannelWorld['ends'] = [];
  gateway.hold = () => Promise.resolve(ends.shift() ?? 'ok');
  const id = `channel-${channelWorlds.size + 1}`;
  channelWorlds.set(id, { gateway, ends });
  return { id, url: gateway.url };
}

interface World {
  readonly proxy: FaultProxy;
  /** Absent where the service is the real one. */
  readonly gateway?: TestGateway;
  transfers(): Promise<readonly unknown[]>;
}
const worlds = new Map<string, World>();
let real: Promise<RealWorld> | undefined;

interface Steering {
  readonly faults?: readonly Fault[];
  readonly moves?: readonly Move[];
  readonly terms?: Record<string, unknown>;
}

async function handle(request: IncomingMessage): Promise<object | undefined> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  const body: unknown = text === '' ? {} : JSON.parse(text);
  if (request.method === 'POST' && request.url === '/sign') {
    const { privateKey, typedData } = body as { privateKey: Hex; typedData: TypedDataDefinition };
    return { signature: await privateKeyToAccount(privateKey).signTypedData(typedData) };
  }
  if (request.method === 'POST' && request.url === '/channels') return await startChannelWorld();
  const channelWorld = channelWorlds.get(request.url?.replace('/worlds/', '') ?? '');
  if (channelWorld) {
    const { ends = [] } = body as { readonly ends?: ChannelWorld['ends'] };
    channelWorld.ends.push(...ends);
    return booksOf(channelWorld);
  }
  if (request.method === 'POST' && request.url === '/worlds') {
    const gateway = await startTestGateway();
    const proxy = await startFaultProxy(gateway.url);
    const id = String(worlds.size + 1);
    worlds.set(id, { gateway, proxy, transfers: () => Promise.resolve(gateway.transfers) });
    return { id, url: proxy.url };
  }
  if (request.method === 'POST' && request.url === '/real') {
    const world = await (real ??= startRealWorld());
    worlds.set('real', world);
    return { id: 'real', url: world.proxy.url, dev: world.service.dev };
  }
  const world = worlds.get(request.url?.replace('/worlds/', '') ?? '');
  if (!world) return undefined;
  const { gateway, proxy } = world;
  const { faults = [], moves = [], terms } = body as Steering;
  proxy.faults.push(...faults);
  gateway?.moves.push(...moves);
  if (gateway && terms) gateway.terms = terms;
  return { seen: proxy.seen, transfers: await world.transfers() };
}

const server = createServer((request, response) => {
  handle(request).then(
    (answer) => {
      response.writeHead(answer ? 200 : 404, { 'content-type': 'application/json' });
      response.end(JSON.stringify(answer ?? {}));
    },
    () => request.socket.destroy(),
  );
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
process.stdin.resume();
process.stdin.on('end', () => {
  const stopped = real?.then((world) => world.close());
  void Promise.resolve(stopped).finally(() => process.exit(0));
});
