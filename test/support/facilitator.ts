/**
 * The official facilitator behind HTTP, on a real chain, which misbehaves on demand:
 *   const facilitator = await startFacilitator(chain);
 *   facilitator.next('settle', 'cut-after');   // for one request; honest after that
 *   facilitator.always('settle', 'hang');
 *   facilitator.url; facilitator.calls('settle'); await facilitator.stop();
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { x402Facilitator } from '@x402/core/facilitator';
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types';
import { toFacilitatorEvmSigner } from '@x402/evm';
import { ExactEvmScheme } from '@x402/evm/exact/facilitator';
import { createWalletClient, http, nonceManager, publicActions } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { base } from '../../gateway/dev/base.js';
import type { TestChain } from './chain.js';

export type Behaviour =
  | 'honest'
  /** Does nothing and never answers. */
  | 'hang'
  /** Does what it was asked to do; the connection breaks before the answer. */
  | 'cut-after'
  /** Does nothing and names a transaction that there is not. */
  | 'lie'
  /** Does nothing and says that its transaction is on its way. */
  | 'pending'
  /** Does what it was asked to do, and speaks of failure beside the transaction's hash. */
  | 'fail-named'
  /** Does nothing, and speaks of failure beside the hash of a transaction that there is not. */
  | 'refuse-named'
  /** Does nothing and refuses with a reason of its own. */
  | 'refuse'
  | 'garbage'
  | 'error'
  | 'redirect';

type Operation = 'verify' | 'settle' | 'supported';
interface Asked {
  readonly paymentPayload: PaymentPayload;
  readonly paymentRequirements: PaymentRequirements;
}

const NETWORK = 'eip155:8453';
export const INVENTED = `0x${'ab'.repeat(32)}`;

export type TestFacilitator = Awaited<ReturnType<typeof startFacilitator>>;

export async function startFacilitator(
  chain: TestChain,
  { token, network = NETWORK }: { token?: string; network?: `eip155:${number}` } = {},
) {
  const official = officialFacilitator(chain, network);
  const counts = new Map<Operation, number>();
  const once = new Map<Operation, Behaviour>();
  const steady = new Map<Operation, Behaviour>();

  const honest = (operation: Operation, body: string): Promise<object> => {
    if (operation === 'supported') return Promise.resolve(official.getSupported());
    const { paymentPayload, paymentRequirements } = JSON.parse(body) as Asked;
    return official[operation](paymentPayload, paymentRequirements);
  };

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const operation = (request.url ?? '').slice(1) as Operation;
    counts.set(operation, (counts.get(operation) ?? 0) + 1);
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    const answer = (value: object, status = 200) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    if (token !== undefined && request.headers.authorization !== `Bearer ${token}`) {
      answer({ error: 'unauthorized' }, 401);
      return;
    }
    const behaviour = once.get(operation) ?? steady.get(operation) ?? 'honest';
    once.delete(operation);
    switch (behaviour) {
      case 'honest':
        answer(await honest(operation, body));
        return;
      case 'hang':
        return;
      case 'cut-after':
        await honest(operation, body);
        request.socket.resetAndDestroy();
        return;
      case 'lie':
        answer({ success: true, isValid: true, transaction: INVENTED, network });
        return;
      case 'fail-named':
        await honest(operation, body);
        answer({ success: false, errorReason: 'rpc_timeout', transaction: INVENTED, network });
        return;
      case 'refuse-named':
        answer({ success: false, errorReason: 'rpc_timeout', transaction: INVENTED, network });
        return;
      case 'pending':
        answer({
          success: false,
          errorReason: 'settlement_pending',
          transaction: INVENTED,
          network,
        });
        return;
      case 'refuse':
        answer({
          success: false,
          isValid: false,
          invalidReason: 'not_today',
          errorReason: 'not_today',
          transaction: '',
          network,
        });
        return;
      case 'garbage':
        response.end('<html>busy</html>');
        return;
      case 'error':
        answer({ error: 'internal' }, 500);
        return;
      case 'redirect':
        response.writeHead(307, { location: `/${operation}?again` }).end();
    }
  };
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls: (operation: Operation) => counts.get(operation) ?? 0,
    /** For one request. */
    next: (operation: Operation, behaviour: Behaviour) => once.set(operation, behaviour),
    /** Until told otherwise. */
    always: (operation: Operation, behaviour: Behaviour) => steady.set(operation, behaviour),
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function officialFacilitator(chain: TestChain, network: `eip155:${number}`): x402Facilitator {
  const account = privateKeyToAccount(chain.relayerPrivateKey, { nonceManager });
  const transport = http(chain.rpcUrl);
  const wallet = createWalletClient({
    account,
    chain: base,
    transport,
    pollingInterval: 100,
  }).extend(publicActions);
  const signer = toFacilitatorEvmSigner({
    address: account.address,
    getCode: (call) => wallet.getCode(call),
    readContract: (call) => wallet.readContract({ ...call, args: call.args ?? [] }),
    verifyTypedData: (call) => wallet.verifyTypedData(call as never),
    writeContract: (call) => wallet.writeContract({ ...call, args: call.args }),
    sendTransaction: (call) => wallet.sendTransaction(call),
    waitForTransactionReceipt: (call) => wallet.waitForTransactionReceipt(call),
  });
  return new x402Facilitator().register(network, new ExactEvmScheme(signer));
}
