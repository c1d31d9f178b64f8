/** What attackers and those beside them need: their own addresses, and raw sockets. */
import { once } from 'node:events';
import { request, type Agent } from 'node:http';
import { connect, type Socket } from 'node:net';

/** One client of its own address: 127.0.0.2 and so on are all of this machine. */
export interface Client {
  readonly localAddress: string;
  readonly agent?: Agent;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
  readonly ms: number;
}

/** `POST` of a JSON body unless said otherwise. Rejects when there is no answer. */
export function ask(
  url: string,
  { localAddress, agent }: Client,
  how: { method?: string; body?: string; headers?: Record<string, string> } = {},
): Promise<Answer> {
  const { method = 'POST', body = '{"query":"lamp"}', headers = {} } = how;
  const started = performance.now();
  return new Promise((resolve, reject) => {
    const asked = request(url, {
      method,
      localAddress,
      ...(agent && { agent }),
      headers: { 'content-type': 'application/json', ...headers },
      timeout: 60_000,
    });
    asked.on('response', (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('error', reject);
      response.on('end', () => {
        const { statusCode: status = 0, headers: received } = response;
        const ms = performance.now() - started;
        resolve({ status, headers: received, body: Buffer.concat(parts).toString(), ms });
      });
    });
    asked.on('timeout', () => asked.destroy(new Error('no answer in 60 s')));
    asked.on('error', reject);
    asked.end(method === 'GET' ? undefined : body);
  });
}

/** A connection that has sent these bytes; undefined where it was not let in. */
export async function open(
  url: string,
  localAddress: string,
  bytes: string,
): Promise<Socket | undefined> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), localAddress });
  socket.on('error', () => undefined);
  await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
  if (socket.destroyed) return undefined;
  socket.write(bytes);
  return socket;
}

/** Sends bytes on a connection of their own and reads what comes until it ends. */
export async function sendRaw(url: string, bytes: string): Promise<string> {
  const socket = await open(url, '127.0.0.1', bytes);
  if (!socket) return '';
  const parts: Buffer[] = [];
  socket.on('data', (part: Buffer) => parts.push(part));
  const timer = setTimeout(() => socket.destroy(), 5_000);
  if (!socket.destroyed) await once(socket, 'close');
  clearTimeout(timer);
  return Buffer.concat(parts).toString('latin1');
}

/** The value below which this part of them lies. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

/** A metric by the operator's port; without labels the sum over all of them. */
export async function metric(opsUrl: string, name: string, labels = '.*'): Promise<number> {
  const text = await (await fetch(`${opsUrl}/metrics`)).text();
  const lines = text.matchAll(new RegExp(`^${name}(?:\\{${labels}\\})? ([0-9.e+-]+)$`, 'gm'));
  return [...lines].reduce((total, [, value]) => total + Number(value), 0);
}
