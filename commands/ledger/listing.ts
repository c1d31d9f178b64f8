import { formatUsd, usdcUnits } from '../../gateway/ground/domain/units.js';
import type { AuditBooks, PaymentFilter } from '../../gateway/money/ledger/audit.js';
import {
  CSV_HEADER,
  csvRecord,
  explainPayment,
  paymentJson,
  paymentLine,
} from '../../gateway/money/ledger/report.js';
import { UsageError } from '../command.js';
import type { LedgerOptions } from './options.js';

/** Prints payments, one a line, and for people their sum. */
export async function list(books: AuditBooks, { filter, isJson }: LedgerOptions, limit: number) {
  let [count, units] = [0, 0n];
  for await (const payment of books.payments(filter)) {
    if (count < limit) {
      console.log(isJson ? JSON.stringify(paymentJson(payment)) : paymentLine(payment));
    }
    count += 1;
    units += payment.authorization.value;
  }
  if (isJson) return;
  const more = count > limit ? `, of which ${limit} are shown` : '';
  console.log(
    `${count} payment${count === 1 ? '' : 's'}${more}, ${formatUsd(usdcUnits(units))} USD`,
  );
}

/** Prints everything about a payment. @throws UsageError where the books do not know it. */
export async function explain(books: AuditBooks, name: string, isJson: boolean): Promise<void> {
  const payments = await books.find(name);
  if (payments.length === 0) throw new UsageError(`the books know no payment ${name}`);
  for (const payment of payments) {
    const intents = await books.intentsOf(payment.id);
    if (!isJson) {
      console.log(explainPayment(payment, intents).join('\n'));
      continue;
    }
    const transactions = intents.flatMap(({ relayer, nonce, transactions: signed }) =>
      signed.map(({ hash, signedAt, cost }) => ({
        ...{ hash, relayer, nonce: String(nonce), signedAt },
        ...(cost && {
          gasUsed: String(cost.gasUsed),
          gasPriceWei: String(cost.gasPrice),
          publishingFeeWei: String(cost.publishingFee),
        }),
      })),
    );
    console.log(JSON.stringify({ ...paymentJson(payment), transactions }));
  }
}

/** Prints one record a payment. */
export async function exportCsv(books: AuditBooks, filter: PaymentFilter): Promise<void> {
  console.log(CSV_HEADER);
  for await (const payment of books.payments(filter)) console.log(csvRecord(payment));
}
