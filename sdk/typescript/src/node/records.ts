import { PaymentError } from '../errors.js';
import type { PaymentRecord } from '../payment/record.js';

/** One record as one line of JSON. */
export function encodeRecord(record: PaymentRecord): string {
  return `${JSON.stringify({ ...record, amountUnits: record.amountUnits.toString() })}\n`;
}

/**
 * The records of a file of lines, the newest version of each.
 * @throws {PaymentError} when a line cannot be read: no payment is signed on top of damage
 */
export function decodeRecords(content: string, path: string): Map<string, PaymentRecord> {
  const lines = content.split('\n');
  // Text after the last line break was cut short by a crash, and never acknowledged.
  lines.pop();
  const records = new Map<string, PaymentRecord>();
  for (const [index, line] of lines.entries()) {
    try {
      const value = JSON.parse(line) as PaymentRecord & { amountUnits: string };
      records.set(value.id, { ...value, amountUnits: BigInt(value.amountUnits) });
    } catch (error) {
      const message = `the payment log ${path} is damaged in line ${index + 1}; nothing was signed`;
      throw new PaymentError(message, { cause: error });
    }
  }
  return records;
}

/** Whether a failure of the file system has this code (`ENOENT`). */
export function isCode(error: unknown, ...codes: string[]): boolean {
  return (
    typeof error === 'object' &&
    error !== null &&
    'code' in error &&
    codes.includes(String(error.code))
  );
}
