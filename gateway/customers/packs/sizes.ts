import { refuse, type Refusal } from '../../ground/domain/refusal.js';
import { formatUsd, usdcUnits, type UsdcUnits } from '../../ground/domain/units.js';

/** A pack as the settings name it; without an amount it costs what its searches cost. */
export interface PackSetting {
  readonly searches: number;
  readonly amount?: UsdcUnits;
}

/** A pack that is on sale. */
export interface PackSize {
  readonly searches: number;
  /** Atomic USDC for all of it. */
  readonly amount: UsdcUnits;
}

/** @param priceUnits of one search, in atomic USDC. */
export function sizesOf(
  settings: readonly PackSetting[],
  priceUnits: UsdcUnits,
): readonly PackSize[] {
  return settings.map(({ searches, amount }) => ({
    searches,
    amount: amount ?? usdcUnits(BigInt(searches) * priceUnits),
  }));
}

/** The size with so many searches; the first one where no number is said. */
export function sizeFor(
  sizes: readonly PackSize[],
  searches: number | undefined,
): PackSize | Refusal {
  const size = searches === undefined ? sizes[0] : sizes.find((one) => one.searches === searches);
  if (size) return size;
  const onSale = sizes.map((one) => `${one.searches} for ${formatUsd(one.amount)} USD`);
  return onSale.length === 0
    ? refuse('not_found', 'This server sells no packs. Pay for each search, or ask for a key.')
    : refuse(
        'invalid_parameter',
        `"searches" must be one of the packs on sale: ${onSale.join(', ')}.`,
      );
}
