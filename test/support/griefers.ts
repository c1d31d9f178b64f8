/**
 * Payers that burn the gas of whoever settles for them, and honest ones beside them, over HTTP:
 *   const crowd = await joinService(service);
 *   await crowd.newWallet(GaspriceBurner);              // a wallet with this code and some USDC
 *   await crowd.delegate(payer.address, GaspriceBurner); // EIP-7702: a key's account gets code
 *   await crowd.pay(payer) / crowd.payAs(wallet)         // one paid search; its status and code
 *   await crowd.relayed()                                // every transaction of the relayer
 */
import { randomBytes } from 'node:crypto';
import { concat, hexToBigInt } from 'viem';
import { EIP7702_DELEGATION_PREFIX } from '../../contracts-abi/erc1271.js';
import { address, type Address, type Hex } from '../../gateway/ground/domain/units.js';
import type { SignedAuthorization } from '../../gateway/money/payment/authorization.js';
import { reachDevChain, sign, type Payer, type ReachedChain } from './chain.js';
import type { TestService } from './service.js';

/** Contract code as the artifacts have it. */
interface Code {
  readonly runtimeCode: Hex;
}

/** What came of one paid search. */
export interface PaidReply {
  readonly status: number;
  /** The refusal's code; empty for results. */
  readonly code: string;
  readonly ms: number;
}

interface Challenge {
  readonly resource: object;
  readonly accepts: readonly [{ readonly amount: string; readonly maxTimeoutSeconds: number }];
}

export type Crowd = Awaited<ReturnType<typeof joinService>>;

const UNITS = 1_000_000n;

const someAddress = (): Address => address(`0x${randomBytes(20).toString('hex')}`);

/** Any bytes: those wallets do not look at them. */
const WALLET_SIGNATURE: Hex = `0x${'11'.repeat(96)}`;

export async function joinService(service: TestService) {
  const chain = await reachDevChain(service.dev.rpcUrl);
  const unpaid = await service.search({ query: 'lighthouse' });
  const challenge = JSON.parse(
    Buffer.from(unpaid.headers.get('payment-required') ?? '', 'base64').toString('utf8'),
  ) as Challenge;
  const [accepted] = challenge.accepts;
  const value = BigInt(accepted.amount);

  const send = async (signed: SignedAuthorization): Promise<PaidReply> => {
    const startedMs = performance.now();
    const response = await service.search(
      { query: 'lighthouse lamp' },
      { 'payment-signature': headerOf(challenge, signed) },
    );
    const body = (await response.json()) as { code?: string };
    const ms = performance.now() - startedMs;
    return { status: response.status, code: body.code ?? '', ms };
  };
  return {
    chain,
    value,
    newWallet: async ({ runtimeCode }: Code): Promise<Address> => {
      const wallet = someAddress();
      await chain.client.setCode({ address: wallet, bytecode: runtimeCode });
      await chain.fund([wallet], UNITS);
      return wallet;
    },
    /** Gives an account the code of a contract that has this code (EIP-7702). */
    delegate: (account: Address, code: Code) => delegate(chain, account, code),
    newPayers: (count: number) => chain.newPayers(count, { usdc: UNITS }),
    pay: async (payer: Payer, more: { validBefore?: SignedAuthorization['validBefore'] } = {}) =>
      send(await sign(payer, { value, to: chain.payTo, ...more })),
    payAs: async (
      wallet: Address,
      signer: Payer,
      more: { validBefore?: SignedAuthorization['validBefore'] } = {},
    ) =>
      send({
        ...(await sign(signer, { value, to: chain.payTo, from: wallet, ...more })),
        signature: WALLET_SIGNATURE,
      }),
    /** Every transaction that the relayer sent since a block, with its cost. */
    relayed: (fromBlock = 0n) => relayedSince(chain, fromBlock),
  };
}

/** Gives a key's account the code of a contract that has this code (EIP-7702). */
export async function delegate(
  { client }: Pick<ReachedChain, 'client'>,
  account: Address,
  { runtimeCode }: Code,
): Promise<void> {
  const contract = someAddress();
  await client.setCode({ address: contract, bytecode: runtimeCode });
  const bytecode = concat([EIP7702_DELEGATION_PREFIX, contract]);
  await client.setCode({ address: account, bytecode });
}

function headerOf(challenge: Challenge, signed: SignedAuthorization): string {
  const { from, to, value, validAfter, validBefore, nonce, signature } = signed;
  const authorization = {
    from,
    to,
    value: value.toString(),
    validAfter: validAfter.toString(),
    validBefore: validBefore.toString(),
    nonce,
  };
  const [accepted] = challenge.accepts;
  const payment = {
    x402Version: 2,
    resource: challenge.resource,
    accepted,
    payload: { signature, authorization },
  };
  return Buffer.from(JSON.stringify(payment)).toString('base64');
}

/** Every transaction that the relayer sent since a block, with its cost. */
export async function relayedSince(
  chain: Pick<ReachedChain, 'client' | 'relayerAddress'>,
  fromBlock: bigint,
) {
  const found: { hash: Hex; data: Hex; gasUsed: bigint; succeeded: boolean; transfers: number }[] =
    [];
  const last = await chain.client.getBlockNumber({ cacheTime: 0 });
  for (let number = fromBlock; number <= last; number += 1n) {
    const block = await chain.client.getBlock({ blockNumber: number, includeTransactions: true });
    for (const { hash, from, input } of block.transactions) {
      if (from.toLowerCase() !== chain.relayerAddress) continue;
      const { gasUsed, status, logs } = await chain.client.getTransactionReceipt({ hash });
      const transfers = logs.filter(({ data }) => data.length === 66 && hexToBigInt(data) > 0n);
      const succeeded = status === 'success';
      found.push({ hash, data: input, gasUsed, succeeded, transfers: transfers.length });
    }
  }
  return found;
}
