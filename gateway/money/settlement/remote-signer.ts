import { isAddressEqual, parseTransaction, recoverTransactionAddress, toHex } from 'viem';
import type { TransactionSerializedEIP1559 } from 'viem';
import { z } from 'zod';
import type { Address } from '../../ground/domain/units.js';
import { signedTransaction, type Signer, type UnsignedTransaction } from './signer.js';

export interface RemoteSignerSettings {
  /** The signer's JSON-RPC address; only ever set by the operator. Redirects are refused. */
  readonly url: string;
  /** The account it signs for. */
  readonly address: Address;
  /** `Authorization` header, where the signer wants one. Never logged. */
  readonly authorization?: string;
  /** Milliseconds for one signature. */
  readonly timeoutMs: number;
}

const ANSWER_BYTES_MAX = 256 * 1024;
const rawSchema = z.string().regex(/^0x02([0-9a-f]{2})+$/i);
/** Web3Signer answers with the bytes, Clef with an object that has them. */
const answerSchema = z.object({
  result: z.union([rawSchema, z.object({ raw: rawSchema }).transform(({ raw }) => raw)]),
});

/**
 * A signer behind HTTP: `eth_signTransaction` as Web3Signer and Clef speak it. What comes back is
 * checked field by field and its signature recovered, so that a signer gone wrong can stop the
 * settlement but not make it broadcast anything else.
 */
export function createRemoteSigner(settings: RemoteSignerSettings): Signer {
  const { address } = settings;
  return {
    address,
    sign: async (transaction) => {
      const raw = await ask(settings, transaction);
      await assertSame(raw, transaction, address);
      return signedTransaction(raw);
    },
  };
}

async function ask(
  settings: RemoteSignerSettings,
  transaction: UnsignedTransaction,
): Promise<TransactionSerializedEIP1559> {
  const { to, data } = transaction;
  const params = {
    from: settings.address,
    to,
    data,
    value: '0x0',
    nonce: toHex(transaction.nonce),
    gas: toHex(transaction.gasLimit),
    maxFeePerGas: toHex(transaction.maxFeePerGas),
    maxPriorityFeePerGas: toHex(transaction.maxPriorityFeePerGas),
    chainId: toHex(transaction.chainId),
  };
  const response = await fetch(settings.url, {
    method: 'POST',
    redirect: 'error',
    headers: {
      'content-type': 'application/json',
      ...(settings.authorization && { authorization: settings.authorization }),
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'eth_signTransaction',
      params: [params],
    }),
    signal: AbortSignal.timeout(settings.timeoutMs),
  });
  const text = await response.text();
  if (!response.ok || text.length > ANSWER_BYTES_MAX) {
    throw new Error(`the signer answered with status ${response.status}`);
  }
  const answer = answerSchema.safeParse(parseJson(text));
  if (!answer.success) throw new Error('the signer did not answer with a signed transaction');
  return answer.data.result as TransactionSerializedEIP1559;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** @throws unless the bytes are exactly the transaction that was asked for, signed by `address`. */
async function assertSame(
  raw: TransactionSerializedEIP1559,
  asked: UnsignedTransaction,
  address: Address,
): Promise<void> {
  const got = parseTransaction(raw);
  const isSame =
    got.chainId === asked.chainId &&
    BigInt(got.nonce ?? 0) === asked.nonce &&
    got.to?.toLowerCase() === asked.to &&
    (got.data ?? '0x') === asked.data &&
    (got.value ?? 0n) === 0n &&
    got.gas === asked.gasLimit &&
    got.maxFeePerGas === asked.maxFeePerGas &&
    got.maxPriorityFeePerGas === asked.maxPriorityFeePerGas;
  if (!isSame) throw new Error('the signer signed another transaction than it was asked to');
  const signer = await recoverTransactionAddress({ serializedTransaction: raw });
  if (!isAddressEqual(signer, address)) throw new Error('the signer signed for another account');
}
