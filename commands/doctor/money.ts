import { decodeFunctionResult, parseAbi } from 'viem';
import {
  BASE_CHAIN_ID,
  MULTICALL3_ADDRESS,
  USDC_ADDRESS,
  USDC_DOMAIN,
} from '../../contracts-abi/addresses.js';
import { address, formatUsd, type Hex } from '../../gateway/ground/domain/units.js';
import { preflight } from '../../gateway/money/chain/preflight.js';
import { GAS_PRICE_ORACLE, publishingFeeCall } from '../../gateway/money/payment/publishing-fee.js';
import { TRANSACTION_BYTES } from '../../gateway/money/payment/relayer-funds.js';
import { SETTLEMENT_DEFAULTS } from '../../gateway/money/settlement/settings.js';
import type { Config } from '../../gateway/wiring/config.js';
import { openRelayers } from '../../gateway/wiring/relayers.js';
import type { Seen } from './endpoints.js';
import { bad, type Finding, good, reasonOf, warning } from './finding.js';

/** Gas of a transfer that goes alone, and of one that shares its transaction with fifteen others. */
const GAS = { alone: 85_700n, shared: 53_000n };
/** Lone transfers that a relayer should have gas for. */
const TRANSFERS_FEW = 1_000n;

const feeAbi = parseAbi(['function getL1FeeUpperBound(uint256) view returns (uint256)']);

/** What one transfer costs now, in wei: gas, and publishing it on Ethereum. */
export interface TransferCost {
  readonly aloneWei: bigint;
  readonly sharedWei: bigint;
}

export async function transferCost({ ask }: Pick<Seen, 'ask'>): Promise<TransferCost> {
  const gasPrice = BigInt((await ask('eth_gasPrice', [])) as string);
  const publishingWei = await publishingFee(ask);
  return {
    aloneWei: gasPrice * GAS.alone + publishingWei,
    // Most of the bytes are each payment's own.
    sharedWei: gasPrice * GAS.shared + publishingWei,
  };
}

/** Zero where the chain has no such oracle: a local one. */
async function publishingFee(ask: Seen['ask']): Promise<bigint> {
  const call = { to: GAS_PRICE_ORACLE, data: publishingFeeCall(TRANSACTION_BYTES) };
  const result = (await ask('eth_call', [call, 'latest']).catch(() => '0x')) as Hex;
  if (result === '0x') return 0n;
  return decodeFunctionResult({ abi: feeAbi, functionName: 'getL1FeeUpperBound', data: result });
}

/** The contracts that payments go through are there, and are what they should be. */
export async function lookAtContracts({ ask }: Seen): Promise<readonly Finding[]> {
  const asset = address(USDC_ADDRESS);
  try {
    await preflight(ask, { chainId: BASE_CHAIN_ID, asset, domain: USDC_DOMAIN });
  } catch (error) {
    const cure = 'Check that RPC_URLS lead to Base mainnet, or to a fork of it.';
    return [bad('contracts.token', reasonOf(error), cure)];
  }
  const code = await ask('eth_getCode', [MULTICALL3_ADDRESS, 'latest']);
  if (code === '0x') {
    return [
      bad(
        'contracts.multicall',
        `There is no Multicall3 at ${MULTICALL3_ADDRESS}.`,
        'Use a chain that has it: payments are checked and batched through it.',
      ),
    ];
  }
  return [good('contracts', 'USDC and Multicall3 are where they should be.')];
}

/** Each relayer's gas money, and how many transfers it pays for. */
export async function lookAtRelayers(
  config: Config,
  { ask }: Pick<Seen, 'ask'>,
  { aloneWei }: TransferCost,
): Promise<readonly Finding[]> {
  if (config.chain.kind !== 'mainnet' || 'facilitatorUrl' in config.chain.mover) return [];
  let relayers;
  try {
    relayers = await openRelayers(config.chain.mover);
  } catch (error) {
    return [bad('relayer.key', reasonOf(error), 'Set RELAYER_PRIVATE_KEY_FILE to a file with it.')];
  }
  const { relayerBalanceMin: reserve } = SETTLEMENT_DEFAULTS;
  return Promise.all(
    relayers.map(async ({ address: relayer }) => {
      const balance = BigInt((await ask('eth_getBalance', [relayer, 'latest'])) as string);
      const has = `Relayer ${relayer} has ${ether(balance)} ETH`;
      if (balance <= reserve) {
        const said = `${has}: not above the reserve of ${ether(reserve)}, so no payment is taken.`;
        return bad('relayer.balance', said, `Send ETH on Base to ${relayer}.`);
      }
      const transfers = aloneWei === 0n ? TRANSFERS_FEW : (balance - reserve) / aloneWei;
      const lasts = `${has}: enough for some ${transfers} transfers that go alone.`;
      return transfers < TRANSFERS_FEW
        ? warning('relayer.runway', lasts, `Send more ETH on Base to ${relayer}.`)
        : good('relayer.balance', lasts);
    }),
  );
}

/** Whether a payment brings in what its transfer costs. */
export function lookAtPrice(config: Config, cost: TransferCost): Finding {
  const { PRICE_USD, PRICE_COVERS_GAS, ETH_USD } = config;
  const usd = (wei: bigint) => (Number(wei) / 1e18) * ETH_USD;
  const price = Number(PRICE_USD) / 1e6;
  const alone = usd(cost.aloneWei);
  const costs =
    `a transfer costs ${figure(alone)} USD alone and ${figure(usd(cost.sharedWei))} USD in a full ` +
    `transaction (ETH at ${ETH_USD} USD, publishing on Ethereum included)`;
  const asked = `A search costs ${formatUsd(PRICE_USD)} USD`;
  if (PRICE_COVERS_GAS) return good('price', `${asked} and the gas beside it; ${costs}.`);
  if (price >= alone) return good('price', `${asked}; ${costs}.`);
  return warning(
    'price',
    `${asked}; ${costs}: a lone payment loses ${figure(alone / price)} times its price.`,
    `Set PRICE_COVERS_GAS=on, or PRICE_USD to ${figure(alone)} or more.`,
  );
}

const figure = (value: number) => String(Number(value.toPrecision(2)));
const ether = (wei: bigint) => (Number(wei) / 1e18).toFixed(5);
