import { createServer, type AddressInfo, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

/** What a mail server offers. */
export interface MailServerSettings {
  /** PEM; with it, STARTTLS is offered. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** What it says to whoever signs in, such as `535 No`; without it, nobody can. */
  readonly signIn?: string;
}

export interface MailServer {
  readonly port: number;
  stop(): Promise<void>;
}

/** A mail server up to the sign-in (RFC 5321, RFC 3207): it takes no mail. */
export async function startMailServer({ tls, signIn }: MailServerSettings): Promise<MailServer> {
  const sockets = new Set<Socket>();
  const serve = (socket: Socket, isEncrypted: boolean): void => {
    const offers = [
      ...(tls && !isEncrypted ? ['STARTTLS'] : []),
      ...(signIn === undefined ? [] : ['AUTH PLAIN']),
    ];
    socket
      .on('error', () => undefined)
      .on('data', (data: Buffer) => {
        const [word = ''] = data.toString().trim().toUpperCase().split(' ');
        if (word === 'EHLO') {
          const lines = ['mail.test', ...offers];
          const last = lines.length - 1;
          socket.write(
            lines.map((line, at) => `250${at === last ? ' ' : '-'}${line}\r\n`).join(''),
          );
        } else if (word === 'STARTTLS' && tls) {
          socket.removeAllListeners('data');
          socket.write('220 Go ahead\r\n');
          serve(new TLSSocket(socket, { isServer: true, ...tls }), true);
        } else if (word === 'AUTH') {
          socket.write(`${signIn ?? '503 No'}\r\n`);
        } else if (word === 'QUIT') {
          socket.end('221 Bye\r\n');
        } else {
          socket.write('502 No such command\r\n');
        }
      });
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.write('220 mail.test\r\n');
    serve(socket, false);
  });
  await new Promise<void>((resolve) => server.listen(0, resolve));
  return {
    port: (server.address() as AddressInfo).port,
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
