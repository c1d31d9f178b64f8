import { formatEther } from 'viem';
import type { Store } from '../../gateway/ground/store/store.js';
import { formatUsd, usdcUnits } from '../../gateway/ground/domain/units.js';
import { csvField } from '../../gateway/money/ledger/report.js';
import type { Movement } from './movement.js';
import { boughtIn, type MovementFilter, movements, ownWallets } from './movements.js';

/** Amounts in USDC and ETH, times in ISO 8601. */
const HEADER =
  'time,request_id,kind,payer,own_wallet,amount_usdc,moved_usdc,transaction,block_number,' +
  'gas_used,gas_cost_eth';

/** Prints one record (RFC 4180) a movement; `own` are wallets of ours that the books do not know. */
export async function exportMovements(
  store: Store,
  filter: MovementFilter,
  own: readonly string[],
): Promise<void> {
  const ours = new Set([...(await ownWallets(store)), ...own.map((one) => one.toLowerCase())]);
  console.log(HEADER);
  for await (const movement of movements(store, await boughtIn(store), filter)) {
    console.log(recordOf(movement, ours.has(movement.payer)));
  }
}

function recordOf(movement: Movement, isOwn: boolean): string {
  const { at, requestId, kind, payer, amount, moved, transaction, block, gas } = movement;
  const usdc = (units: bigint | undefined) =>
    units === undefined ? '' : formatUsd(usdcUnits(units));
  return [
    new Date(at).toISOString(),
    requestId ?? '',
    kind,
    payer,
    isOwn ? 'yes' : 'no',
    usdc(amount),
    usdc(moved),
    transaction ?? '',
    block?.toString() ?? '',
    gas?.used.toString() ?? '',
    gas ? formatEther(gas.costWei) : '',
  ]
    .map(csvField)
    .join(',');
}
