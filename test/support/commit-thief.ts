/**
 * Stands between a store and PostgreSQL, and spoils the message that commits:
 *   const thief = await startCommitThief(server.url);
 *   thief.stealNext('answer');    // the server commits, and the connection is cut before it says so
 *   thief.stealNext('question');  // the connection is cut before the server hears of it
 *   thief.stealNext('delay');     // the same to the client; `deliver()` brings it to the server later
 */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export async function startCommitThief(target: string) {
  const { hostname, port } = new URL(target);
  const state: { next?: 'answer' | 'question' | 'delay'; held?: { far: Socket; bytes: Buffer } } =
    {};
  const counts = { stolen: 0 };
  const open = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    open.add(near).add(far);
    let isDeaf = false;
    const end = () => {
      near.destroy();
      if (state.held?.far !== far) far.destroy();
    };
    for (const socket of [near, far]) socket.on('error', end).on('close', end);
    near.on('data', (bytes: Buffer) => {
      const { next } = state;
      if (next === undefined || !bytes.includes('; commit')) {
        far.write(bytes);
        return;
      }
      delete state.next;
      counts.stolen += 1;
      switch (next) {
        case 'answer':
          isDeaf = true;
          far.write(bytes);
          far.once('data', () => near.resetAndDestroy());
          return;
        case 'delay':
          state.held = { far, bytes };
          isDeaf = true;
          near.resetAndDestroy();
          return;
        case 'question':
          near.resetAndDestroy();
      }
    });
    far.on('data', (bytes) => {
      if (!isDeaf) near.write(bytes);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const place = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: target.replace(/127\.0\.0\.1:\d+/, place),
    stealNext: (what: 'answer' | 'question' | 'delay') => {
      state.next = what;
    },
    /** How many commits were spoiled. */
    stolen: () => counts.stolen,
    /** Brings the delayed commit to the server; what it says to that. */
    deliver: (): Promise<string> => {
      const { held } = state;
      if (!held) throw new Error('nothing is held back');
      return new Promise((resolve) => {
        let said = '';
        held.far.on('data', (bytes: Buffer) => {
          said += bytes.toString('latin1');
          // An error, or the end of the answer.
          if (said.includes('ERROR') || said.includes('COMMIT')) resolve(said);
        });
        held.far.on('close', () => resolve(`${said} terminated`));
        if (held.far.destroyed) resolve('terminated');
        else held.far.write(held.bytes);
      });
    },
    stop: async () => {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
