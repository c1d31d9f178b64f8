import { freePort } from './ports.js';
import { startTestService, type TestService, type TestServiceOptions } from './service.js';

/** A service that knows its own addresses, as the authorization server has to. */
export interface NamedService {
  readonly service: TestService;
  /** Of the gateway and the console: the issuer of tokens. */
  readonly origin: string;
  /** Of the API. */
  readonly apiOrigin: string;
}

const TRIES_MAX = 5;

/**
 * Starts the whole service on ports that are chosen before. Somebody else may take one of them in
 * between: then on others.
 */
export async function startNamedService(options: TestServiceOptions = {}): Promise<NamedService> {
  for (let tries = 1; ; tries++) {
    const [port, apiPort] = [await freePort(), await freePort()];
    const env = { ...options.env, PORT: String(port), API_PORT: String(apiPort) };
    try {
      const service = await startTestService({ ...options, env });
      return {
        service,
        origin: `http://localhost:${port}`,
        apiOrigin: `http://localhost:${apiPort}`,
      };
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'EADDRINUSE' || tries === TRIES_MAX) throw error;
    }
  }
}
