import type { Checkpoint } from '../../gateway/money/ledger/checkpoint.js';
import { createLedger, type Ledger } from '../../gateway/money/ledger/ledger.js';
import { LEDGER_MIGRATIONS } from '../../gateway/money/ledger/migrations.js';
import type { Payment } from '../../gateway/money/ledger/payment.js';
import { TransferBooks } from '../../gateway/money/ledger/transfers.js';
import type { SignedAuthorization } from '../../gateway/money/payment/authorization.js';
import type { SettlementChain } from '../../gateway/money/settlement/chain.js';
import { createRpcChain, type RpcRequester } from '../../gateway/money/settlement/rpc-chain.js';
import {
  SETTLEMENT_DEFAULTS,
  type SettlementSettings,
} from '../../gateway/money/settlement/settings.js';
import { Settlement } from '../../gateway/money/settlement/settlement.js';
import { createLocalSigner, type Signer } from '../../gateway/money/settlement/signer.js';
import type { Migration } from '../../gateway/ground/store/migrations.js';
import type { Store } from '../../gateway/ground/store/store.js';
import type { TestChain } from './chain.js';
import { BINDING, someReply } from './payments.js';
import { mortalClock, realRandom, silentLog } from './ports.js';
import { temporaryStore } from './stores.js';

/** Plain JSON-RPC over HTTP that counts its calls by method. */
export function countingRpc(url: string): RpcRequester & { readonly calls: Map<string, number> } {
  const calls = new Map<string, number>();
  return {
    calls,
    request: async (method, params) => {
      calls.set(method, (calls.get(method) ?? 0) + 1);
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
        signal: AbortSignal.timeout(5000),
      });
      const answer = (await response.json()) as { result?: unknown; error?: object };
      // The port promises an object with code and message, as JSON-RPC sends it.
      // eslint-disable-next-line @typescript-eslint/only-throw-error
      if (answer.error) throw answer.error;
      return answer.result;
    },
  };
}

export interface Bench {
  readonly chain: TestChain;
  readonly rpc: ReturnType<typeof countingRpc>;
  readonly store: Store;
  /** Where the database is, to start another one on it. */
  readonly location: string;
  readonly ledger: Ledger;
  readonly books: TransferBooks;
  readonly settlement: Settlement;
  /** Reserves and serves an authorization, as the pipeline does. */
  served(authorization: SignedAuthorization): Promise<Payment>;
  /** Stops the settlement as a killed process would: nothing is finished or handed over. */
  crash(): Promise<void>;
  discard(): Promise<void>;
}

export interface BenchOptions {
  readonly settings?: Partial<SettlementSettings>;
  /** An existing database, to start on what another process left. */
  readonly location?: string;
  /** Stands between the settlement and the chain, to make it fail. */
  readonly chain?: (real: SettlementChain) => SettlementChain;
  /** Tables beside the ledger's. */
  readonly migrations?: readonly Migration[];
  readonly signers?: readonly Signer[];
  readonly checkpoint?: Checkpoint;
}

/** A ledger and a started settlement on a test chain. */
export async function startBench(chain: TestChain, options: BenchOptions = {}): Promise<Bench> {
  const migrations = [...LEDGER_MIGRATIONS, ...(options.migrations ?? [])];
  const { store, location, discard } = await temporaryStore(migrations, options.location);
  const { clock, kill } = mortalClock();
  const ledger = createLedger({
    store,
    clock,
    random: realRandom,
    owner: realRandom.uuid(),
    ...(options.checkpoint && { checkpoint: options.checkpoint }),
  });
  const books = new TransferBooks(store, clock);
  const rpc = countingRpc(chain.rpcUrl);
  const real = createRpcChain(chain.chainId, rpc);
  const settlement = new Settlement(
    {
      chain: options.chain?.(real) ?? real,
      ledger,
      books,
      clock,
      random: realRandom,
      log: process.env.LOG ? console : silentLog,
      ...(options.checkpoint && { checkpoint: options.checkpoint }),
      settings: {
        ...SETTLEMENT_DEFAULTS,
        blockTimeMs: 250,
        rebroadcastAfterMs: 600,
        replaceAfterMs: 1200,
        housekeepingMs: 200,
        ...options.settings,
      },
    },
    options.signers ?? [createLocalSigner(chain.relayerPrivateKey)],
  );
  await settlement.start();
  let isDead = false;
  return {
    chain,
    rpc,
    store,
    location,
    ledger,
    books,
    settlement,
    served: async (authorization) => {
      await settlement.admitPayer(authorization, { kind: 'none' });
      const { payment } = await ledger.reserve(authorization, BINDING, 'request');
      await ledger.serve(payment.id, someReply());
      return payment;
    },
    crash: async () => {
      // Not awaited: what is stuck at a checkpoint never ends, as in a killed process.
      isDead = true;
      void settlement.drain({ deadlineMs: 0 });
      await store.close();
      kill();
    },
    discard: async () => {
      if (!isDead) await settlement.drain({ deadlineMs: 0 });
      await discard();
    },
  };
}
