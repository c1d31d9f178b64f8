import type { Hex } from 'viem';
import { startFaultProxy, type FaultProxy } from './fault-proxy.js';
import { startTestService, type TestService } from './service.js';

/** keccak256 of `Transfer(address,address,uint256)`. */
const TRANSFER_TOPIC = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';

/** The real service with a local chain, behind a fault proxy. */
export interface RealWorld {
  readonly service: TestService;
  readonly proxy: FaultProxy;
  /** The hashes of all transfers from the development payer to the payee, from the chain's logs. */
  transfers(): Promise<Hex[]>;
  close(): Promise<void>;
}

export async function startRealWorld(): Promise<RealWorld> {
  const service = await startTestService();
  const { dev } = service;
  const proxy = await startFaultProxy(service.gatewayUrl);
  const topic = (address: string) => `0x${address.slice(2).toLowerCase().padStart(64, '0')}`;
  const filter = {
    ...{ fromBlock: '0x0', toBlock: 'latest', address: dev.asset },
    topics: [TRANSFER_TOPIC, topic(dev.payerAddress), topic(dev.payTo)],
  };
  return {
    service,
    proxy,
    transfers: async () => {
      const body = { jsonrpc: '2.0', id: 1, method: 'eth_getLogs', params: [filter] };
      const headers = { 'content-type': 'application/json' };
      const request = { method: 'POST', headers, body: JSON.stringify(body) };
      const answer = await (await fetch(dev.rpcUrl, request)).json();
      const { result } = answer as { result: { transactionHash: Hex }[] };
      return result.map(({ transactionHash }) => transactionHash);
    },
    close: async () => {
      await proxy.close();
      await service.stop();
    },
  };
}
