/** What a transaction offers, in wei per gas (EIP-1559). */
export interface Fees {
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
}

export interface FeeSettings {
  /** Wei per gas for the block builder. */
  readonly priorityFeePerGas: bigint;
  /** Wei per gas beyond which nothing is ever offered. */
  readonly maxFeePerGasCap: bigint;
}

/**
 * The fees of a first transaction: twice the base fee lasts through at least six full blocks, as
 * it rises by at most an eighth from block to block (EIP-1559).
 */
export function initialFees(baseFee: bigint, settings: FeeSettings): Fees {
  const wanted = 2n * baseFee + settings.priorityFeePerGas;
  const maxFeePerGas = wanted < settings.maxFeePerGasCap ? wanted : settings.maxFeePerGasCap;
  const { priorityFeePerGas } = settings;
  return {
    maxFeePerGas,
    maxPriorityFeePerGas: priorityFeePerGas < maxFeePerGas ? priorityFeePerGas : maxFeePerGas,
  };
}

/**
 * The fees of a replacement: nodes ask for a tenth more of both fees (geth's `txpool.pricebump`),
 * an eighth is offered, and what a first transaction would offer now if that is more; at the end
 * the cap itself. Undefined when the cap leaves no room for a tenth: then it stays as it is.
 */
export function bumpedFees(
  previous: Fees,
  baseFee: bigint,
  settings: FeeSettings,
): Fees | undefined {
  const fresh = initialFees(baseFee, settings);
  const cap = settings.maxFeePerGasCap;
  const maxFeePerGas = min(max(raised(previous.maxFeePerGas), fresh.maxFeePerGas), cap);
  const wantedTip = max(raised(previous.maxPriorityFeePerGas), fresh.maxPriorityFeePerGas);
  const maxPriorityFeePerGas = min(wantedTip, maxFeePerGas);
  const isEnough =
    isTenthMore(previous.maxFeePerGas, maxFeePerGas) &&
    isTenthMore(previous.maxPriorityFeePerGas, maxPriorityFeePerGas);
  return isEnough ? { maxFeePerGas, maxPriorityFeePerGas } : undefined;
}

/** An eighth more, at least one wei. */
const raised = (fee: bigint): bigint => fee + fee / 8n + 1n;
const isTenthMore = (before: bigint, after: bigint): boolean => 10n * after >= 11n * before;
const max = (a: bigint, b: bigint): bigint => (a > b ? a : b);
const min = (a: bigint, b: bigint): bigint => (a < b ? a : b);
