import { Search402 } from '../client.js';
import type { SearchOutcome } from '../call.js';
import { formatUsd } from '../payment/money.js';
import type { SearchParams } from '../types.js';
import { wholeNumber, type Invocation } from './args.js';
import { printable, toJson, UsageError, type Io } from './io.js';
import { commonOptions, findApiKey, findStore, findWallet } from './setup.js';

/** Characters of a description that a person is shown. */
const DESCRIPTION_SHOWN = 300;

function searchParams(invocation: Invocation): SearchParams {
  const query = invocation.words.join(' ');
  if (query === '') throw new UsageError('enter some keywords to search for');
  return {
    query,
    maxResults: wholeNumber(invocation, 'max-results'),
    maxDescriptionLength: wholeNumber(invocation, 'max-description-length'),
  };
}

function show({ data, payment, receipt }: SearchOutcome, { json }: Invocation, io: Io): void {
  if (json) {
    io.out(toJson(payment ? { ...data, payment, receipt } : data));
    return;
  }
  const { results, searchMetadata } = data.result;
  for (const [index, item] of results.entries()) {
    const text = printable(item.description);
    const isLong = text.length > DESCRIPTION_SHOWN;
    io.out(`${index + 1}. ${printable(item.title)}`);
    io.out(`   ${printable(item.url)}`);
    if (text !== '') io.out(`   ${text.slice(0, DESCRIPTION_SHOWN)}${isLong ? '…' : ''}`);
    io.out('');
  }
  const seconds = searchMetadata.executionTime.toFixed(3);
  io.out(`${results.length} results in ${seconds} s, request ${data.requestId}`);
  if (payment) {
    const how = payment.channelId === undefined ? '' : ', from a channel';
    const where = payment.transaction === undefined ? how : `, transaction ${payment.transaction}`;
    io.out(`paid ${formatUsd(payment.amountUnits)} USD to ${payment.payTo}${where}`);
  }
}

/** `search402 search` */
export async function search(invocation: Invocation, io: Io): Promise<void> {
  const params = searchParams(invocation);
  const apiKey = findApiKey(invocation, io);
  if (apiKey === undefined) {
    throw new UsageError('no API key: set SEARCH402_API_KEY or --key-file, or use "pay"');
  }
  const client = new Search402({ ...commonOptions(invocation, io), apiKey });
  show(await client.searchWithResponse(params), invocation, io);
}

/** A client with the wallet and the caps that were given. */
export function walletClient(invocation: Invocation, io: Io): Search402 {
  const wallet = findWallet(invocation, io);
  if (!wallet) throw new UsageError('no wallet: set SEARCH402_PRIVATE_KEY or --wallet-file');
  const { values } = invocation;
  const payment = {
    maxPerRequest: values['max-per-request'],
    maxPerDay: values['max-per-day'],
    maxTotal: values['max-total'],
    maxDeposit: values['max-deposit'],
    payees: values.payee === undefined ? undefined : [values.payee],
    store: findStore(invocation, io),
  };
  return new Search402({ ...commonOptions(invocation, io), wallet, payment });
}

/** `search402 pay` */
export async function pay(invocation: Invocation, io: Io): Promise<void> {
  const params = searchParams(invocation);
  show(await walletClient(invocation, io).searchWithResponse(params), invocation, io);
}

/** `search402 quote` */
export async function quote(invocation: Invocation, io: Io): Promise<void> {
  const asked = await new Search402({
    ...commonOptions(invocation, io),
    apiKey: undefined,
  }).quote();
  if (invocation.json) {
    io.out(toJson(asked));
    return;
  }
  io.out(`${asked.amountUsd} USD a search (${asked.amountUnits} atomic USDC)`);
  io.out(`network ${asked.network}, asset ${asked.asset}`);
  io.out(`payee ${asked.payTo}, valid for ${asked.maxTimeoutSeconds} s`);
}
