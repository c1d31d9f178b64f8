import { unixMillis, type UnixMillis } from '../../gateway/ground/domain/units.js';
import type { PaymentFilter } from '../../gateway/money/ledger/audit.js';
import type { PaymentStatus } from '../../gateway/money/ledger/status.js';
import { type Given, UsageError, wholeNumber } from '../command.js';

export const HELP = `npm run ledger -- COMMAND [options]

  list                    payments, the oldest first, one a line, and their sums
  explain NAME            everything about one payment; NAME is its id, nonce, request id,
                          payment identifier or transaction
  reconcile               the books beside the chain's transfers to the payee;
                          ends with 1 when a settled payment has no transfer
  export                  CSV to the standard output (amounts in atomic units, 6 decimals)
  export --movements      CSV for bookkeeping, one record for each movement of money: exact, pack,
                          top-up, deposit, voucher charge, claim, payout, refund, gas (with the
                          L1 fee). moved_usdc is what the token moved: summed by transaction it is
                          what the chain says. --since and --until are then the movement's time

  --status A,B            only payments that are: reserved, released, served, signed, broadcast,
                          settled, final, reorged, failed
  --payer 0x…             only payments of this payer
  --since, --until TIME   only payments reserved in this time (ISO 8601)
  --limit N               list: at most so many lines (default 100)
  --from-block N          reconcile: from this block (default: the first settled payment's)
  --own 0x…,0x…           export --movements: more wallets to mark as our own
  --json                  for programs
  --help

Settings as for the gateway: DATABASE_URL or DATA_DIR, and for reconcile RPC_URLS and PAY_TO; a
development start's own chain is found in DATA_DIR. Run it beside the gateway at any time.
`;

const STATUSES: readonly PaymentStatus[] = [
  'reserved',
  'released',
  'served',
  'signed',
  'broadcast',
  'preconfirmed',
  'settled',
  'final',
  'reorged',
  'failed',
];

export type Command =
  | { readonly kind: 'help' }
  | { readonly kind: 'list'; readonly limit: number }
  | { readonly kind: 'explain'; readonly name: string }
  | { readonly kind: 'reconcile'; readonly fromBlock?: bigint }
  | { readonly kind: 'export' }
  | { readonly kind: 'movements'; readonly own: readonly string[] };

export interface LedgerOptions {
  readonly command: Command;
  readonly filter: PaymentFilter;
  readonly isJson: boolean;
}

export const OPTIONS = {
  status: { type: 'string' },
  payer: { type: 'string' },
  since: { type: 'string' },
  until: { type: 'string' },
  limit: { type: 'string', default: '100' },
  'from-block': { type: 'string' },
  movements: { type: 'boolean', default: false },
  own: { type: 'string', default: '' },
  json: { type: 'boolean', default: false },
} as const;

/** @throws UsageError */
export function ledgerOptions({ values, positionals }: Given<typeof OPTIONS>): LedgerOptions {
  const { status, payer, since, until } = values;
  return {
    isJson: values.json,
    command: commandOf(positionals, values),
    filter: {
      ...(status !== undefined && { statuses: statusesOf(status) }),
      ...(payer !== undefined && { payer }),
      ...(since !== undefined && { since: timeOf('--since', since) }),
      ...(until !== undefined && { until: timeOf('--until', until) }),
    },
  };
}

const NUMBER_MAX = 999_999_999_999_999;

function commandOf(
  [command, name]: readonly string[],
  values: Given<typeof OPTIONS>['values'],
): Command {
  switch (command) {
    case undefined:
      return { kind: 'help' };
    case 'list':
      return { kind: 'list', limit: wholeNumber('limit', values.limit, 0, NUMBER_MAX) };
    case 'explain':
      if (name === undefined) throw new UsageError('explain needs the name of a payment');
      return { kind: 'explain', name };
    case 'reconcile': {
      const from = values['from-block'];
      if (from === undefined) return { kind: 'reconcile' };
      return {
        kind: 'reconcile',
        fromBlock: BigInt(wholeNumber('from-block', from, 0, NUMBER_MAX)),
      };
    }
    case 'export':
      if (!values.movements) return { kind: 'export' };
      if (values.status !== undefined) throw new UsageError('--status is for payments');
      return { kind: 'movements', own: walletsOf(values.own) };
    default:
      throw new UsageError(`unknown command ${command}`);
  }
}

function walletsOf(text: string): string[] {
  const wallets = text.split(',').filter((one) => one !== '');
  for (const wallet of wallets) {
    if (!/^0x[0-9a-f]{40}$/i.test(wallet)) throw new UsageError(`--own: ${wallet} is no address`);
  }
  return wallets;
}

function statusesOf(text: string): PaymentStatus[] {
  return text.split(',').map((name) => {
    const status = STATUSES.find((known) => known === name.trim());
    if (!status) throw new UsageError(`--status: there is no status ${name}`);
    return status;
  });
}

function timeOf(option: string, text: string): UnixMillis {
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw new UsageError(`${option}: ${text} is not an ISO 8601 time`);
  return unixMillis(time);
}
