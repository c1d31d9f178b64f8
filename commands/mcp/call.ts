import type { CallToolResult } from '@modelcontextprotocol/server';
import type { ErrorResponse } from '../../gateway/edge/http/error-reply.js';
import { isRefusal } from '../../gateway/ground/domain/refusal.js';
import { toolArguments } from '../../gateway/edge/mcp/arguments.js';
import { answerResult, errorResult, PAYMENT_RESPONSE_META } from '../../gateway/edge/mcp/result.js';
import {
  ApiError,
  Search402Error,
  type Search402,
  type SearchParams,
} from '../../sdk/typescript/src/index.js';

/** Runs one call of the tool through the official client; what goes wrong is a result too. */
export async function callThrough(
  client: Search402,
  args: unknown,
  signal: AbortSignal,
): Promise<CallToolResult> {
  try {
    const asked = toolArguments(args);
    if (isRefusal(asked)) return { isError: true, content: [{ type: 'text', text: asked.detail }] };
    // The service checks the parameters, and its refusals say what is wrong with them.
    const outcome = await client.searchWithResponse(asked.search as SearchParams, { signal });
    const result = answerResult(outcome.data, asked.maxCharacters);
    const receipt = outcome.headers.get('payment-response');
    if (receipt === null) return result;
    const response: unknown = JSON.parse(Buffer.from(receipt, 'base64').toString('utf8'));
    return { ...result, _meta: { [PAYMENT_RESPONSE_META]: response } };
  } catch (error) {
    if (error instanceof ApiError && isErrorResponse(error.body)) return errorResult(error.body);
    if (error instanceof Search402Error) {
      return { isError: true, content: [{ type: 'text', text: error.message }] };
    }
    throw error;
  }
}

function isErrorResponse(body: unknown): body is ErrorResponse {
  return typeof body === 'object' && body !== null && 'detail' in body && 'code' in body;
}
