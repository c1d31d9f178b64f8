/**
 * Passes TCP connections on, until it is told otherwise:
 *   const relay = await startTcpRelay(chain.rpcUrl);
 *   relay.host; relay.open(); relay.cut(); relay.isDown = true; relay.isSilent = true; await relay.stop();
 */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export async function startTcpRelay(target: string) {
  const { hostname, port } = new URL(target);
  const pairs = new Map<Socket, Socket>();
  const state = { isDown: false, isSilent: false };
  const server = createServer((near) => {
    if (state.isDown) {
      near.resetAndDestroy();
      return;
    }
    const far = connect(Number(port), hostname);
    pairs.set(near, far);
    const end = () => {
      pairs.delete(near);
      // What was said before the end still arrives.
      near.destroySoon();
      far.destroySoon();
    };
    for (const socket of [near, far]) socket.on('error', end).on('close', end);
    near.on('data', (bytes) => far.write(bytes));
    far.on('data', (bytes) => {
      if (!state.isSilent) near.write(bytes);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = () => {
    for (const near of pairs.keys()) near.resetAndDestroy();
  };
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Connections that are open now. */
    open: () => pairs.size,
    /** Resets every connection; new ones are let in. */
    cut,
    /** While true, nobody gets in, and who is in is thrown out. */
    set isDown(value: boolean) {
      state.isDown = value;
      if (value) cut();
    },
    /** While true, connections stay open and what the other side says is lost. */
    set isSilent(value: boolean) {
      state.isSilent = value;
    },
    stop: async () => {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
