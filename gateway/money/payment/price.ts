import { decodeFunctionResult, encodeFunctionData, parseAbi } from 'viem';
import type { Clock, Log } from '../../ground/domain/ports.js';
import { usdcUnits, type Address, type UsdcUnits } from '../../ground/domain/units.js';
import { multicall3Abi } from '../../../contracts-abi/multicall3.js';
import { aggregate, MULTICALL3, readUint, type ChainCaller, type Outcome } from './on-chain.js';
import { GAS_PRICE_ORACLE, publishingFeeCall } from './publishing-fee.js';
import type { Call } from './transfer.js';

/** Where the price of ETH comes from; prices have 8 decimals, as Chainlink's USD feeds do. */
export type EthUsd =
  | { readonly kind: 'fixed'; readonly usdE8: bigint }
  | {
      readonly kind: 'feed';
      /** A Chainlink aggregator of ETH in USD. */
      readonly feed: Address;
      /** An answer older than this many seconds is not used. */
      readonly ageMaxSeconds: number;
    };

/** What a settlement costs, apart from what the chain says. */
interface SettlementGas {
  /** Gas of one payment, for example 85,700 when it is settled alone. */
  readonly gasUnits: bigint;
  /** Tip on top of the base fee, in wei for one unit of gas. */
  readonly priorityFeeWei: bigint;
  /** Bytes of one payment's transaction, for the fee of publishing it on the layer below. */
  readonly transactionBytes: number;
}

/** A price that follows the cost of settling it. */
export interface LivePrice {
  /** The floor and the cost as last seen. */
  readonly amount: () => UsdcUnits;
  /** Asks the chain once. @throws when the cost cannot be told; the last known one then stands. */
  refresh(): Promise<void>;
  /** Refreshes every `everyMs` until `signal` aborts; a failure is logged and the price stands. */
  run(signal: AbortSignal): Promise<void>;
}

interface LivePriceOptions {
  readonly chain: ChainCaller;
  readonly clock: Pick<Clock, 'now' | 'sleep'>;
  readonly log: Pick<Log, 'warn'>;
  readonly floor: UsdcUnits;
  readonly gas: SettlementGas;
  readonly ethUsd: EthUsd;
  readonly everyMs: number;
  readonly deadlineMs: number;
}

const feedAbi = parseAbi([
  'function decimals() view returns (uint8)',
  'function latestRoundData() view returns (uint80 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound)',
]);

const FEED_DECIMALS = 8n;
/** wei per ETH × the decimals of the price ÷ USDC's 6 decimals: 10^18 × 10^8 ÷ 10^6. */
const WEI_USD_E8_PER_UNIT = 10n ** 20n;

/** The cost of `wei` in atomic USDC, rounded up. */
export function usdcCost(wei: bigint, ethUsdE8: bigint): UsdcUnits {
  return usdcUnits((wei * ethUsdE8 + WEI_USD_E8_PER_UNIT - 1n) / WEI_USD_E8_PER_UNIT);
}

/**
 * The operator's floor plus what one settlement costs now. Quoting reads a number in memory; the
 * chain is asked in the background, in one call.
 */
export function createLivePrice(options: LivePriceOptions): LivePrice {
  const { chain, clock, log, floor, gas, ethUsd, everyMs, deadlineMs } = options;
  const calls = costCalls(gas, ethUsd);
  let current = floor;
  const refresh = async () => {
    const outcomes = await aggregate(chain, calls, deadlineMs);
    const wei = readWei(gas, outcomes);
    const usdE8 =
      ethUsd.kind === 'fixed'
        ? ethUsd.usdE8
        : readFeed(outcomes.slice(2), Math.floor(clock.now() / 1000) - ethUsd.ageMaxSeconds);
    current = usdcUnits(floor + usdcCost(wei, usdE8));
  };
  return {
    amount: () => current,
    refresh,
    run: async (signal) => {
      for (;;) {
        await clock.sleep(everyMs, signal);
        if (signal.aborted) return;
        await refresh().catch((error: unknown) => {
          log.warn({ err: error }, 'the cost of settlement is not known; the last price stands');
        });
      }
    },
  };
}

function costCalls(gas: SettlementGas, ethUsd: EthUsd): readonly Call[] {
  const costs: Call[] = [
    {
      target: MULTICALL3,
      data: encodeFunctionData({ abi: multicall3Abi, functionName: 'getBasefee' }),
    },
    {
      target: GAS_PRICE_ORACLE,
      data: publishingFeeCall(gas.transactionBytes),
    },
  ];
  if (ethUsd.kind === 'fixed') return costs;
  const feed = (['decimals', 'latestRoundData'] as const).map((functionName) => ({
    target: ethUsd.feed,
    data: encodeFunctionData({ abi: feedAbi, functionName }),
  }));
  return [...costs, ...feed];
}

/** Wei for one settlement; chains without a layer below have no oracle, and nothing to pay there. */
function readWei(
  { gasUnits, priorityFeeWei }: SettlementGas,
  [baseFee, publishing]: readonly Outcome[],
): bigint {
  const baseFeeWei = baseFee && readUint(baseFee);
  if (baseFeeWei === undefined) throw new Error('the chain did not tell its base fee');
  const publishingWei = (publishing && readUint(publishing)) ?? 0n;
  return gasUnits * (baseFeeWei + priorityFeeWei) + publishingWei;
}

/** The feed's answer, if it is one: positive, with 8 decimals, not older than `oldest`. */
function readFeed([decimals, round]: readonly Outcome[], oldest: number): bigint {
  if (!decimals || readUint(decimals) !== FEED_DECIMALS || !round?.success)
    throw new Error('the ETH/USD feed is not a feed with 8 decimals');
  const [, answer, , updatedAt] = decodeFunctionResult({
    abi: feedAbi,
    functionName: 'latestRoundData',
    data: round.returnData,
  });
  if (answer <= 0n) throw new Error('the ETH/USD feed has no price');
  if (updatedAt < oldest) throw new Error('the ETH/USD feed’s price is too old');
  return answer;
}
