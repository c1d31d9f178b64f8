import { setTimeout as sleep } from 'node:timers/promises';
import { ExactEvmScheme } from '@x402/evm';
import { x402Client, x402HTTPClient, type PaymentRequirements } from '@x402/fetch';
import { privateKeyToAccount } from 'viem/accounts';
import { z } from 'zod';
import { formatUsd, parseUint256, usdcUnits } from '../../gateway/ground/domain/units.js';
import { PayError } from './errors.js';
import type { PayOptions } from './options.js';

const responseSchema = z.object({
  requestId: z.string(),
  result: z.object({
    results: z.array(z.object({ title: z.string(), url: z.string(), description: z.string() })),
    searchMetadata: z.object({ executionTime: z.number() }),
    totalResults: z.number(),
  }),
});

const errorSchema = z.object({ detail: z.string(), code: z.string() });

export interface Quote {
  readonly usd: string;
  readonly network: string;
  readonly payTo: string;
}

/** A search that was found and paid. */
export interface PaidSearch {
  readonly quote: Quote;
  readonly payer: string;
  readonly transaction: string;
  readonly response: z.infer<typeof responseSchema>;
  /** From the first request to the paid answer. */
  readonly elapsedMs: number;
}

/** How long a payment whose outcome is not known is sent again. */
const INSIST_MS = 60_000;
const WAIT_MS = { min: 250, max: 10_000 };
/** One request; a payment may have to wait for its block. */
const REQUEST_MS = 60_000;

/**
 * Asks for the price, signs one authorization for it, and sends the search with it.
 * While the outcome is unknown (503 `settlement_pending`, a lost connection) the same payment is
 * sent again, which the gateway answers with the same result and without a second charge.
 * @throws PayError
 */
export async function paySearch(
  options: PayOptions,
  onQuote: (quote: Quote) => void = () => undefined,
): Promise<PaidSearch> {
  const started = performance.now();
  const account = privateKeyToAccount(options.privateKey);
  const core = new x402Client().register('eip155:*', new ExactEvmScheme(account));
  core.registerPolicy((_, offers) => offers.filter((offer) => isAffordable(offer, options)));
  const client = new x402HTTPClient(core);

  const challenge = await post(options, {}).catch((error: unknown) => {
    throw unreachable(options.gatewayUrl, error);
  });
  if (challenge.status !== 402) {
    if (challenge.status === 200)
      throw new PayError('refused', 'The gateway didn’t ask for a payment.');
    throw new PayError('refused', explain(challenge, await readError(challenge)));
  }
  const required = client.getPaymentRequiredResponse((name) => challenge.headers.get(name));
  const offer = required.accepts.find((one) => isAffordable(one, options));
  if (!offer) throw notPayable(required.accepts, options);
  const quote = { usd: usdOf(offer), network: offer.network, payTo: offer.payTo };
  onQuote(quote);

  const payment = await client.createPaymentPayload(required);
  const answer = await insist(options, client.encodePaymentSignatureHeader(payment));
  const body = responseSchema.parse(await answer.json());
  const receipt = client.getPaymentSettleResponse((name) => answer.headers.get(name));
  return {
    quote,
    payer: account.address,
    transaction: receipt.transaction,
    response: body,
    elapsedMs: Math.round(performance.now() - started),
  };
}

/** Sends the paid request until its outcome is known. */
async function insist(
  options: PayOptions,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  const deadline = performance.now() + INSIST_MS;
  let wasUncertain = false;
  for (;;) {
    const answer = await post(options, headers).catch(() => undefined);
    if (answer?.status === 200) return answer;
    const error = answer && (await readError(answer));
    const isUncertain = !answer || (answer.status >= 500 && !NOTHING_SPENT.has(error?.code ?? ''));
    if (!isUncertain) {
      const explanation = explain(answer, error);
      if (!wasUncertain) throw new PayError('refused', explanation);
      throw new PayError('unknown-outcome', `${explanation} ${LOOK_FIRST}`);
    }
    wasUncertain = true;
    const asked = Number(answer?.headers.get('retry-after') ?? '1') * 1000;
    const waitMs = Math.min(Math.max(asked || 0, WAIT_MS.min), WAIT_MS.max);
    if (performance.now() + waitMs > deadline) throw new PayError('unknown-outcome', LOOK_FIRST);
    await sleep(waitMs);
  }
}

/** Codes of 5xx answers that come before the payment is taken up, or after it was let go. */
const NOTHING_SPENT: ReadonlySet<string> = new Set([
  'upstream_error',
  'upstream_timeout',
  'service_unavailable',
  'chain_unavailable',
]);

const LOOK_FIRST =
  "A payment was sent, and what became of it is not known. Look at the payer's account before " +
  'paying again: the transfer may still be made within its window.';

function post(options: PayOptions, headers: Readonly<Record<string, string>>): Promise<Response> {
  const { query, maxResults } = options;
  return fetch(`${options.gatewayUrl}/search`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ query, ...(maxResults !== undefined && { maxResults }) }),
    redirect: 'error',
    signal: AbortSignal.timeout(REQUEST_MS),
  });
}

function unitsOf(offer: PaymentRequirements) {
  const units = parseUint256(offer.amount);
  return units === undefined ? undefined : usdcUnits(units);
}

function usdOf(offer: PaymentRequirements): string {
  const units = unitsOf(offer);
  return units === undefined ? offer.amount : formatUsd(units);
}

function isAffordable(offer: PaymentRequirements, { maxUnits }: PayOptions): boolean {
  const units = unitsOf(offer);
  return offer.scheme === 'exact' && units !== undefined && units <= maxUnits;
}

function notPayable(offers: readonly PaymentRequirements[], { maxUnits }: PayOptions): PayError {
  const prices = offers.map((offer) => `${usdOf(offer)} USD (${offer.scheme}, ${offer.network})`);
  return new PayError(
    'not-payable',
    `The gateway asks for ${prices.join(' or ') || 'nothing'}; the cap is ${formatUsd(maxUnits)} ` +
      'USD. Nothing was signed. --max-usd raises the cap.',
  );
}

function unreachable(url: string, error: unknown): PayError {
  const cause = error instanceof Error ? error.cause : undefined;
  const code = cause instanceof Error && 'code' in cause ? ` (${String(cause.code)})` : '';
  return new PayError(
    'unreachable',
    `The gateway at ${url} doesn’t answer${code}. Is it running? npm start`,
  );
}

type GatewayError = z.infer<typeof errorSchema>;

async function readError(answer: Response): Promise<GatewayError | undefined> {
  return errorSchema.safeParse(await answer.json().catch(() => undefined)).data;
}

/** What the gateway said, and what it means for the money. */
function explain(answer: Response, error: GatewayError | undefined): string {
  const said = error ? `${error.code}: ${error.detail}` : 'no explanation';
  const retry = answer.headers.get('retry-after');
  return (
    `The gateway answered ${answer.status} (${said}). Nothing was paid.` +
    (retry === null ? '' : ` Try again in ${retry} s.`)
  );
}
