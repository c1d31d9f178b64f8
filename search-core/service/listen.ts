import { rmSync } from 'node:fs';
import type { Server } from 'node:http';
import { connect } from 'node:net';

/** Where the service listens: a TCP address or a Unix socket. */
type Listen =
  | { readonly host: string; readonly port: number; readonly path?: never }
  | { readonly path: string; readonly host?: never; readonly port?: never };

/** Parses `127.0.0.1:4030`, `[::1]:4030` or `unix:/run/search-core.sock`. */
export function parseListen(text: string): Listen {
  if (text.startsWith('unix:') && text.length > 5) return { path: text.slice(5) };
  const [, host = '', port = ''] = /^(.+):(\d{1,5})$/.exec(text) ?? [];
  if (host === '' || Number(port) > 65_535) {
    throw new TypeError(`"${text}" is not an address: use 127.0.0.1:4030 or unix:/path/to/socket`);
  }
  return { host: host.replace(/^\[(.*)\]$/, '$1'), port: Number(port) };
}

/** Starts listening; returns the URL to reach the server (`unix:/path` for a socket). */
export async function listenOn(server: Server, listen: Listen): Promise<string> {
  if (listen.path !== undefined) await removeStaleSocket(listen.path);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(listen, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const address = server.address();
  if (typeof address === 'string' || address === null) return `unix:${listen.path ?? ''}`;
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return `http://${host}:${address.port}`;
}

/** A socket that nobody answers on is left over from a process that was killed. */
async function removeStaleSocket(path: string): Promise<void> {
  const answered = await new Promise<boolean>((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
  if (!answered) rmSync(path, { force: true });
}
