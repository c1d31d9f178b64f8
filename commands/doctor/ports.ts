import { createServer } from 'node:http';
import { listen, listenFault } from '../../gateway/edge/http/server.js';
import type { Config } from '../../gateway/wiring/config.js';
import { bad, type Finding, good, reasonOf } from './finding.js';

const TIMEOUT_MS = 3_000;

/** Whether the service can listen where it is told, or already does. */
export async function lookAtPorts(config: Config): Promise<readonly Finding[]> {
  const { HOST, OPS_HOST, PORT, API_PORT, OPS_PORT } = config;
  const places = [
    ['PORT', HOST, PORT],
    ['API_PORT', HOST, API_PORT],
    ['OPS_PORT', OPS_HOST, OPS_PORT],
  ] as const;
  return Promise.all(
    places.map(async ([setting, host, port]) => {
      const server = createServer();
      try {
        await listen(server, port, host);
        return good('ports', `${setting} ${port} on ${host} is free.`);
      } catch (error) {
        if (await isService(host, port)) {
          return good('ports', `The service listens on ${setting} ${port}.`);
        }
        const fault = reasonOf(listenFault(error, { setting, port, host }));
        return bad('ports', fault, `Set ${setting} to a port that is free and allowed.`);
      } finally {
        server.close();
      }
    }),
  );
}

async function isService(host: string, port: number): Promise<boolean> {
  const place = host === '0.0.0.0' || host === '::' ? 'localhost' : host;
  const name = place.includes(':') ? `[${place}]` : place;
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(`http://${name}:${port}/livez`, { signal });
    return ((await response.json()) as { status?: string }).status === 'live';
  } catch {
    return false;
  }
}
