import { readFileSync } from 'node:fs';
import { ConnectionError } from '../errors.js';
import { formatUsd } from '../payment/money.js';
import { verifyReceipt, type ReceiptClaims } from '../receipt.js';
import type { SearchParams } from '../types.js';
import { wholeNumber, type Invocation } from './args.js';
import { toJson, UsageError, type Io } from './io.js';

const TIMEOUT_MS = 10_000;

function read(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch {
    throw new UsageError(`${file} cannot be read`);
  }
}

/** A file's JSON where it is some; else its text, which may be a header or a signature. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function requestOf(invocation: Invocation): SearchParams | undefined {
  const { query } = invocation.values;
  if (query === undefined) return undefined;
  const maxResults = wholeNumber(invocation, 'max-results');
  const maxDescriptionLength = wholeNumber(invocation, 'max-description-length');
  return { query, maxResults, maxDescriptionLength };
}

/** What the service says now about its keys; a receipt of an older key needs an older document. */
async function fetchDocument({ resourceUrl }: ReceiptClaims): Promise<unknown> {
  const url = new URL('/.well-known/did.json', resourceUrl).href;
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (answer.ok) return (await answer.json()) as unknown;
  } catch {
    // Said below.
  }
  throw new ConnectionError(`${url} does not name the service’s key`);
}

/**
 * `search402 verify RECEIPT [RESULT]`: whether a receipt is good and for this result. Offline, unless
 * `--online` asks the service whose key it is.
 */
export async function verify(invocation: Invocation, io: Io): Promise<void> {
  const [receiptFile, resultFile, ...others] = invocation.words;
  if (receiptFile === undefined || others.length > 0) {
    throw new UsageError('name the file with the receipt, and the one with the result');
  }
  const text = read(receiptFile);
  const receipt = parsed(text);
  // What "pay --json" has printed holds both.
  const holdsBoth = typeof receipt === 'object' && receipt !== null && 'result' in receipt;
  const result = resultFile === undefined ? (holdsBoth ? text : undefined) : read(resultFile);
  const expected = { result, request: requestOf(invocation), payer: invocation.values.payer };
  let verified = await verifyReceipt(receipt, expected);
  const { did } = invocation.values;
  if (did !== undefined || invocation.online) {
    const didDocument =
      did === undefined ? await fetchDocument(verified.claims) : parsed(read(did));
    verified = await verifyReceipt(receipt, { ...expected, didDocument });
  }
  if (invocation.json) {
    io.out(toJson({ ok: true, ...verified, isResultChecked: result !== undefined }));
    return;
  }
  const { claims, keyId, isServicesKey } = verified;
  io.out(`✓ the signature is good, by ${keyId}`);
  if (result !== undefined) io.out('✓ the result is the one that was paid for');
  else io.out('- no result was given, so none was compared');
  if (isServicesKey) io.out('✓ the service’s DID document names this key');
  else io.out('- whose key it is was not checked: use --online, or --did with a kept did.json');
  describe(claims, io);
}

function describe(claims: ReceiptClaims, io: Io): void {
  const { payer, resourceUrl, issuedAt, transaction, channelId, amount, indexGeneration } = claims;
  const paid = amount === undefined ? 'paid' : `paid ${formatUsd(BigInt(amount))} USD`;
  const how = transaction === '' ? `channel ${channelId ?? '?'}` : `transaction ${transaction}`;
  io.out(`${payer} ${paid} at ${resourceUrl}, ${how}`);
  const index = indexGeneration === undefined ? '' : `, index generation ${indexGeneration}`;
  io.out(`${new Date(issuedAt * 1000).toISOString()}${index}`);
}
