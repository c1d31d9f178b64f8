import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { MemoryStore, Search402, type ClientOptions } from '../../sdk/typescript/src/index.js';
import { makeParts, optionsFor } from '../../sdk/typescript/src/parts.js';
import { realRuntime, type Runtime } from '../../sdk/typescript/src/runtime.js';
import { startFaultProxy, type FaultProxy } from './fault-proxy.js';
import { startTestGateway, type TestGateway } from './sdk-gateway.js';

/** A gateway, a proxy before it, and clients that wait no time between their tries. */
export interface SdkWorld {
  readonly gateway: TestGateway;
  readonly proxy: FaultProxy;
  /** Milliseconds that clients would have waited. */
  readonly waits: number[];
  readonly runtime: Runtime;
  readonly account: ReturnType<typeof privateKeyToAccount>;
  /** A client with the world's wallet, unless the options say otherwise. */
  client(options?: ClientOptions): Search402;
  close(): Promise<void>;
}

/** A client on a clock and with a chance of its own. */
export function clientWith(runtime: Runtime, options: ClientOptions = {}): Search402 {
  return new Search402(optionsFor(makeParts(options, runtime)));
}

export async function startSdkWorld(): Promise<SdkWorld> {
  const gateway = await startTestGateway();
  const proxy = await startFaultProxy(gateway.url);
  const waits: number[] = [];
  const account = privateKeyToAccount(generatePrivateKey());
  const runtime: Runtime = {
    ...realRuntime,
    sleep: (ms) => {
      waits.push(ms);
      return Promise.resolve();
    },
    random: () => 0,
  };
  return {
    gateway,
    proxy,
    waits,
    runtime,
    account,
    client: (options = {}) => {
      const common = { baseUrl: proxy.url, logLevel: 'off' } as const;
      if (options.apiKey !== undefined) return clientWith(runtime, { ...common, ...options });
      const payment = { store: new MemoryStore(), ...options.payment };
      return clientWith(runtime, { ...common, wallet: account, ...options, payment });
    },
    close: async () => {
      await proxy.close();
      await gateway.close();
    },
  };
}
