import { ConnectionError, ProtocolError } from '../errors.js';
import { sendOnce, type Answer } from '../transport.js';
import { decodeJson, encodeJson, isObject } from './base64.js';
import type { PaymentRecord } from './record.js';
import { readReceipt } from './verdict.js';
import { signTyped, type StatusTypedData, type Wallet } from './wallet.js';

/**
 * What the gateway's books and the chain say of a payment.
 * - `answered`: it settled, and here is its reply.
 * - `charged`: it settled or was used, and its reply is no longer kept.
 * - `uncharged`: it was not and cannot be charged any more.
 * - `undecided`: it may be charged yet.
 * - `unknown`: nothing was learned; an older gateway does not know the question.
 */
export type Learned =
  | { readonly kind: 'answered'; readonly answer: Answer }
  | { readonly kind: 'charged'; readonly transaction?: string }
  | { readonly kind: 'uncharged' | 'undecided' | 'unknown' };

const FIELDS: StatusTypedData['types']['PaymentStatusRequest'] = [
  { name: 'payer', type: 'address' },
  { name: 'nonce', type: 'bytes32' },
  { name: 'issuedAt', type: 'uint256' },
  { name: 'audience', type: 'string' },
];

/** What the payer signs to be told about a payment (EIP-712). */
export function statusRequest(
  { payer, id, network }: Pick<PaymentRecord, 'payer' | 'id' | 'network'>,
  audience: string,
  issuedAt: number,
): StatusTypedData {
  const chainId = Number(network.slice('eip155:'.length));
  return {
    domain: { name: 'search402', version: '1', chainId },
    types: { PaymentStatusRequest: FIELDS },
    primaryType: 'PaymentStatusRequest',
    message: { payer, nonce: id, issuedAt: BigInt(issuedAt), audience },
  };
}

/** The PAYMENT-PROOF header. */
export function proofHeader({ message }: StatusTypedData, signature: string): string {
  const { payer, nonce, issuedAt } = message;
  return encodeJson({ payer, nonce, issuedAt: Number(issuedAt), signature });
}

/** The origin of the resource that was paid for; the address in use where the quote named none. */
function audienceOf({ header, url }: PaymentRecord): string {
  const payment = header === undefined ? undefined : decodeJson(header);
  const resource = isObject(payment) && isObject(payment.resource) ? payment.resource.url : url;
  try {
    return new URL(String(resource)).origin;
  } catch {
    return new URL(url).origin;
  }
}

export interface InquiryOptions {
  readonly fetch: typeof fetch;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Unix seconds by the server's clock. */
  readonly nowSeconds: number;
}

/**
 * Asks the gateway what became of a payment (`GET /payments/{nonce}`), and for its reply. Signs
 * one question with the wallet.
 * @throws {SigningError} when the wallet refuses
 * @throws {AbortedError} when the caller's signal aborts
 */
export async function inquire(
  wallet: Wallet,
  record: PaymentRecord,
  options: InquiryOptions,
): Promise<Learned> {
  const request = statusRequest(record, audienceOf(record), options.nowSeconds);
  const headers = { 'payment-proof': proofHeader(request, await signTyped(wallet, request)) };
  const url = `${record.url.replace(/(?:search|packs)$/, 'payments')}/${record.id}`;
  const get = (at: string) => sendOnce(options.fetch, { ...options, url: at, headers });
  try {
    const report = readReport(await get(url), record);
    if (report === undefined) return { kind: 'unknown' };
    if (report.replayable) {
      const answer = await get(`${url}/reply`);
      if (answer.status === 200 && readReceipt(answer.headers)?.success === true) {
        return { kind: 'answered', answer };
      }
    }
    return conclude(report, record);
  } catch (error) {
    if (error instanceof ConnectionError || error instanceof ProtocolError) {
      return { kind: 'unknown' };
    }
    throw error;
  }
}

interface Report {
  readonly status: string;
  readonly mayBeCharged: boolean;
  readonly replayable: boolean;
  readonly transaction: string | undefined;
  readonly authorizationUsed: boolean | undefined;
  readonly chainTime: number | undefined;
}

/** The report, when it is one about this very payment. */
function readReport({ status, text }: Answer, { id, payer }: PaymentRecord): Report | undefined {
  if (status !== 200) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(value) || value.nonce !== id || value.payer !== payer) return undefined;
  const { mayBeCharged, replayable, transaction, authorizationUsed, chainTime } = value;
  if (typeof value.status !== 'string' || typeof mayBeCharged !== 'boolean') return undefined;
  return {
    status: value.status,
    mayBeCharged,
    replayable: replayable === true,
    transaction: typeof transaction === 'string' ? transaction : undefined,
    authorizationUsed: typeof authorizationUsed === 'boolean' ? authorizationUsed : undefined,
    chainTime: typeof chainTime === 'number' ? chainTime : undefined,
  };
}

function conclude(report: Report, { validBefore }: PaymentRecord): Learned {
  const { status, transaction, authorizationUsed, chainTime } = report;
  if (status === 'settled' || authorizationUsed === true) {
    return { kind: 'charged', ...(transaction !== undefined && { transaction }) };
  }
  if (!report.mayBeCharged) return { kind: 'uncharged' };
  // A payment that the gateway does not know: this side knows when its window closes.
  const isOver = authorizationUsed === false && chainTime !== undefined && chainTime >= validBefore;
  return { kind: isOver && status === 'unknown' ? 'uncharged' : 'undecided' };
}
