// A JSON-RPC endpoint in front of another that counts requests by method, a batch as its single
// ones, and that may be as far away as hosted endpoints are.
import { Agent, createServer, request as forward } from 'node:http';

/** @param delayMs how much later than the target it answers. */
export async function startRpcCounter(target, delayMs = 0) {
  const counts = new Map();
  const agent = new Agent({ keepAlive: true });
  const server = createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      for (const { method } of [JSON.parse(body.toString())].flat()) {
        counts.set(method, (counts.get(method) ?? 0) + 1);
      }
      const headers = { 'content-type': 'application/json', 'content-length': body.length };
      const out = forward(target, { method: 'POST', agent, headers }, (answer) => {
        setTimeout(() => {
          response.writeHead(answer.statusCode, answer.headers);
          answer.pipe(response);
        }, delayMs);
      });
      out.on('error', () => response.destroy());
      out.end(body);
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    /** Calls since the last reading, and the reading starts anew. */
    take() {
      const taken = Object.fromEntries(counts);
      counts.clear();
      return taken;
    },
    stop: () => {
      server.closeAllConnections();
      agent.destroy();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}
