import { formatUsd, type UnixMillis } from '../../ground/domain/units.js';
import type { Intent } from './intents.js';
import type { Payment } from './payment.js';
import type { PaymentFacts } from './status.js';

const iso = (time: UnixMillis): string => new Date(time).toISOString();

/** One payment in one line: when, what became of it, how much, from whom, by which transaction. */
export function paymentLine(payment: Payment): string {
  const { authorization, status, transaction, reason } = payment;
  const words = [
    iso(payment.reservedAt),
    status.padEnd(12),
    formatUsd(authorization.value).padStart(10),
    authorization.from,
    payment.id,
    transaction ?? '-',
  ];
  return [...words, ...(reason === undefined ? [] : [reason])].join('  ');
}

const FACTS: readonly (readonly [keyof PaymentFacts, string])[] = [
  ['reservedAt', 'reserved'],
  ['servedAt', 'served: the reply was stored'],
  ['signedAt', 'signed'],
  ['broadcastAt', 'broadcast (last time)'],
  ['preconfirmedAt', 'preconfirmed: the transfer is in a block that is still being made'],
  ['settledAt', 'settled: the transfer is confirmed'],
  ['finalAt', 'final: at or below the safe head'],
  ['reorgedAt', 'reorged: the transfer had vanished (last time)'],
  ['releasedAt', 'released: nothing was charged'],
  ['failedAt', 'failed: nothing was transferred'],
];

/** Everything recorded about one payment, each fact with its time, in order of time. */
export function explainPayment(payment: Payment, intents: readonly Intent[]): string[] {
  const { authorization, facts } = payment;
  const events = FACTS.flatMap(([fact, words]) => {
    const at = facts[fact];
    return at === undefined ? [] : [{ at, words }];
  });
  for (const intent of intents) {
    for (const transaction of intent.transactions) {
      const { hash, replaces, signedAt, block, cost } = transaction;
      const nonce = `${intent.relayer} nonce ${intent.nonce}`;
      const what = replaces ? `replaces ${replaces}` : `${intent.payments.length} payment(s)`;
      const where = block ? `, mined in block ${block.number}` : '';
      const fees = cost ? `, ${costText(cost)}` : '';
      events.push({
        at: signedAt,
        words: `transaction ${hash} by ${nonce}, ${what}${where}${fees}`,
      });
    }
  }
  events.sort((a, b) => a.at - b.at);
  return [
    `payment ${payment.id}: ${payment.status}${payment.reason ? ` (${payment.reason})` : ''}`,
    `  ${formatUsd(authorization.value)} USD from ${authorization.from} to ${authorization.to}`,
    `  authorization ${authorization.nonce} on chain ${authorization.chainId}, ` +
      `valid before ${new Date(authorization.validBefore * 1000).toISOString()}`,
    `  request ${payment.requestId}${payment.reply ? ', reply kept' : ''}`,
    ...(payment.block ? [`  transfer in block ${payment.block.number} ${payment.block.hash}`] : []),
    ...events.map(({ at, words }) => `  ${iso(at)}  ${words}`),
  ];
}

/** What a transaction cost, and of it what publishing it on the layer below did. */
function costText({ gasUsed, gasPrice, publishingFee }: NonNullable<Cost>): string {
  const total = gasUsed * gasPrice + publishingFee;
  return `cost ${total} wei (${gasUsed} gas at ${gasPrice}, L1 fee ${publishingFee})`;
}

type Cost = Intent['transactions'][number]['cost'];

/** The columns of the CSV export; amounts in atomic units (6 decimals), times in ISO 8601. */
export const CSV_HEADER =
  'id,status,chain_id,asset,payer,pay_to,value_units,nonce,reserved_at,settled_at,' +
  'final_at,released_at,failed_at,reason,transaction,block_number,request_id';

/** One payment as a CSV record (RFC 4180). */
export function csvRecord(payment: Payment): string {
  const { authorization, facts } = payment;
  const time = (at: UnixMillis | undefined) => (at === undefined ? '' : iso(at));
  const fields = [
    payment.id,
    payment.status,
    String(authorization.chainId),
    authorization.asset,
    authorization.from,
    authorization.to,
    authorization.value.toString(),
    authorization.nonce,
    time(facts.reservedAt),
    time(facts.settledAt),
    time(facts.finalAt),
    time(facts.releasedAt),
    time(facts.failedAt),
    payment.reason ?? '',
    payment.transaction ?? '',
    payment.block?.number.toString() ?? '',
    payment.requestId,
  ];
  return fields.map(csvField).join(',');
}

/** Quotes where RFC 4180 asks for it, and defuses what a spreadsheet would run as a formula. */
export function csvField(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** A payment for programs: amounts and block numbers as decimal text, times in ISO 8601. */
export function paymentJson(payment: Payment): Record<string, unknown> {
  const { authorization, facts, block, reply } = payment;
  const { deposit } = authorization;
  const times = Object.entries(facts) as [string, UnixMillis][];
  return {
    id: payment.id,
    status: payment.status,
    authorization: {
      ...authorization,
      value: authorization.value.toString(),
      deposit: deposit && { ...deposit, salt: deposit.salt.toString() },
      // Whoever has it could make the transfer.
      signature: undefined,
    },
    binding: payment.binding,
    requestId: payment.requestId,
    paymentIdentifier: payment.paymentIdentifier,
    facts: Object.fromEntries(times.map(([fact, at]) => [fact, iso(at)])),
    transaction: payment.transaction,
    block: block && { number: block.number.toString(), hash: block.hash },
    reason: payment.reason,
    isReplyKept: reply !== undefined,
  };
}
