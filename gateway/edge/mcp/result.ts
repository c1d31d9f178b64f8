import type { CallToolResult } from '@modelcontextprotocol/server';
import type { SearchResponse } from '../../../search-core/contract.js';
import type { Refusal } from '../../ground/domain/refusal.js';
import { errorResponse, type ErrorResponse } from '../http/error-reply.js';
import type { Delivered } from '../../search/proofs.js';
import type { Offer, SearchReply } from '../../search/reply.js';
import type { Receipt } from '../../money/x402/receipt.js';
import { fitPassages, spendOnBest, type Fitted } from './budget.js';

/** The objects of x402 as MCP carries them (x402 specification, MCP transport). */
export interface McpPaymentWire {
  /** PaymentRequired, for `structuredContent` and the text beside it. */
  paymentRequired(offer: Offer): Record<string, unknown>;
  /** SettleResponse, for `_meta`. */
  paymentResponse(receipt: Receipt, delivered?: Delivered): Record<string, unknown>;
}

export const PAYMENT_META = 'x402/payment';
export const PAYMENT_RESPONSE_META = 'x402/payment-response';

/** The capability with which both sides say that they know the result type `payment_required`. */
export const PAYMENT_EXTENSION = 'org.x402/payment';

/**
 * How a call is told that it has to be paid for: as an error result, which every client understands,
 * or as a result of a type of its own, where the client says that it knows the extension.
 */
export type PaymentBinding = 'tool-result' | 'extension';

export interface ToolResultOptions {
  readonly binding: PaymentBinding;
  /** Characters of all pages together; undefined where the caller leaves them to the tool. */
  readonly maxCharacters: number | undefined;
}

/** Gives a search's reply the form of a tool result. */
export function toolResult(
  reply: SearchReply,
  wire: McpPaymentWire,
  { binding, maxCharacters }: ToolResultOptions,
): CallToolResult {
  const result = resultOf(reply, wire, { binding, maxCharacters });
  if (!reply.receipt) return result;
  const response = wire.paymentResponse(reply.receipt, deliveredBy(reply, result));
  return { ...result, _meta: { [PAYMENT_RESPONSE_META]: response } };
}

/** What this result brings: its structured content, which may be shorter than the whole reply. */
function deliveredBy(reply: SearchReply, result: CallToolResult): Delivered | undefined {
  if (reply.kind !== 'results' || !reply.sold) return undefined;
  return { sold: reply.sold, body: Buffer.from(JSON.stringify(result.structuredContent)) };
}

function resultOf(
  reply: SearchReply,
  wire: McpPaymentWire,
  { binding, maxCharacters }: ToolResultOptions,
): CallToolResult {
  if (reply.kind === 'results') {
    // The pipeline has checked these bytes against the contract.
    const text = new TextDecoder().decode(reply.body);
    return answerResult(JSON.parse(text) as SearchResponse, maxCharacters);
  }
  if (!reply.offer) return refusalResult(reply.refusal, reply.requestId);
  const required = wire.paymentRequired(reply.offer);
  if (binding === 'tool-result') return challengeResult(required, reply.refusal);
  // No result of the tool: the protocol's own type asks for content, and this one has none.
  return { resultType: 'payment_required', paymentRequired: required, content: [] };
}

/** Results as structured content in the shape of SearchResponse, and as text. */
export function answerResult(
  response: SearchResponse,
  maxCharacters: number | undefined,
): CallToolResult {
  const fitted =
    maxCharacters === undefined ? fitPassages(response) : spendOnBest(response, maxCharacters);
  return {
    content: [{ type: 'text', text: readable(fitted) }],
    structuredContent: { ...fitted.response },
  };
}

export function refusalResult(refusal: Refusal, requestId: string): CallToolResult {
  return errorResult(errorResponse(refusal, requestId));
}

/** What went wrong, for the model to read, with the ErrorResponse of HTTP beside it. */
export function errorResult(error: ErrorResponse): CallToolResult {
  return {
    isError: true,
    content: [{ type: 'text', text: `${error.title} (${error.code}): ${error.detail}` }],
    structuredContent: { ...error },
  };
}

/**
 * The challenge: an error result whose structured content and first text are the PaymentRequired.
 * Payers read those; the second text is for a model whose client cannot pay.
 */
function challengeResult(required: Record<string, unknown>, refusal: Refusal): CallToolResult {
  return {
    isError: true,
    content: [
      { type: 'text', text: JSON.stringify(required) },
      { type: 'text', text: refusal.code === 'payment_required' ? HOW_TO_PAY : refusal.detail },
    ],
    structuredContent: required,
  };
}

const HOW_TO_PAY =
  'This search costs money. A client with a wallet signs one of "accepts" and calls the ' +
  `tool again with the payment in _meta["${PAYMENT_META}"]. Without a wallet, connect with an API ` +
  'key as "Authorization: Bearer s402_live_…".';

/** The results as a person would list them. */
function readable({ response, cutTo, leftOut }: Fitted): string {
  const { results } = response.result;
  if (results.length === 0 && leftOut === 0) {
    return 'No page contains these words. Try fewer or other keywords: only exact words are found.';
  }
  const pages = results.map(
    ({ title, url, description }, index) => `${index + 1}. ${title}\n${url}\n${description}`,
  );
  if (leftOut > 0) {
    const what =
      leftOut === 1 ? '1 more page was found and' : `${leftOut} more pages were found and`;
    return [...pages, `${what} left out: maxCharacters went to the best ones.`].join('\n\n');
  }
  if (cutTo === undefined) return pages.join('\n\n');
  const note =
    `Passages were shortened to ${cutTo} characters so that this result fits. ` +
    'Ask for fewer results (maxResults) to get longer ones.';
  return [...pages, note].join('\n\n');
}
