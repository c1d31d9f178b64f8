import type { Kysely } from 'kysely';
import { keccak256 } from 'viem';
import type { Hex } from '../../gateway/ground/domain/units.js';
import type { Store } from '../../gateway/ground/store/store.js';
import { DELEGATE_CODE } from './chain/contracts.js';
import type { Sabotage } from './machine.js';

/**
 * Parts that are wrong on purpose, each in one way that matters. The checks have to find every one
 * of them: a simulator that cannot fail proves nothing.
 */

class Undone extends Error {
  constructor(readonly value: unknown) {
    super('undone');
  }
}

/** A disk that says yes and forgets: every so often a commit that was acknowledged is not there. */
export const forgetfulStore: Sabotage = {
  store: (store) => {
    let writes = 0;
    const write: Store['write'] = async (work) => {
      writes += 1;
      if (writes % 9 !== 0) return store.write(work);
      try {
        return await store.write(async (tx: Kysely<never>) => {
          throw new Undone(await work(tx as never));
        });
      } catch (error) {
        if (error instanceof Undone) return error.value as never;
        throw error;
      }
    };
    return { ...store, write, health: () => store.health() };
  },
};

/** A key that puts the nonce of the transaction before under every third one. */
export const repeatingSigner: Sabotage = {
  signer: (signer) => {
    let signed = 0;
    return {
      address: signer.address,
      sign: (transaction) => {
        signed += 1;
        const { nonce } = transaction;
        const isWrong = signed % 3 === 0 && nonce > 0n;
        return signer.sign(isWrong ? { ...transaction, nonce: nonce - 1n } : transaction);
      },
    };
  },
};

/** An RPC client that takes any transaction for mined when it has seen another one that was. */
export const mistakenReceipts: Sabotage = {
  client: (client) => {
    let seen: string | undefined;
    return {
      ...client,
      request: async (method, params, options) => {
        const answer = await client.request(method, params, options);
        if (method !== 'eth_getTransactionReceipt') return answer;
        if (answer !== null) {
          seen = JSON.stringify(answer);
          return answer;
        }
        if (seen === undefined) return null;
        const receipt = JSON.parse(seen) as { transactionHash: Hex };
        const text = seen.replaceAll(receipt.transactionHash, String(params[0]));
        return JSON.parse(text) as unknown;
      },
    };
  },
};

/** An RPC client that remembers receipts for ever, whatever becomes of their blocks. */
export const rememberedReceipts: Sabotage = {
  client: (client) => {
    const known = new Map<unknown, unknown>();
    return {
      ...client,
      request: async (method, params, options) => {
        const isReceipt = method === 'eth_getTransactionReceipt';
        if (isReceipt && known.has(params[0])) return known.get(params[0]);
        const answer = await client.request(method, params, options);
        if (isReceipt && answer !== null) known.set(params[0], answer);
        return answer;
      },
    };
  },
};

/** An RPC client by which no account has code: a key that delegates passes for a plain one. */
export const unseenCode: Sabotage = {
  client: (client) => {
    const unseen = (answer: unknown): unknown =>
      typeof answer === 'string'
        ? answer.replaceAll(keccak256(DELEGATE_CODE).slice(2), '0'.repeat(64))
        : answer;
    return {
      ...client,
      ethCall: async (to, data, options) => unseen(await client.ethCall(to, data, options)) as Hex,
      request: async (method, params, options) => {
        const answer = await client.request(method, params, options);
        return answer === DELEGATE_CODE ? '0x' : unseen(answer);
      },
    };
  },
};

/** Books in which two gateways can both win one authorization. */
export const twoWinners: Sabotage = { schema: 'drop index payments_one_live' };

/** Books that charge a credit for a search that failed. */
export const chargedFailures: Sabotage = {
  schema: `create trigger charge after update on credit_balances
    when new.held < old.held and new.spent = old.spent begin
      update credit_balances set available = available - 1, spent = spent + 1
      where account_id = new.account_id; end`,
};
