import {
  CLIENT_CAPABILITIES_META_KEY,
  createMcpHandler,
  type CallToolResult,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { Log, Random } from '../../ground/domain/ports.js';
import { isRefusal, refuse } from '../../ground/domain/refusal.js';
import type { Credentials, Face } from '../../search/caller.js';
import type { Search } from '../../search/pipeline.js';
import { toolArguments } from './arguments.js';
import { expectedRefusal } from '../http/failure.js';
import { credentialsOf } from './payment.js';
import {
  PAYMENT_EXTENSION,
  refusalResult,
  toolResult,
  type McpPaymentWire,
  type PaymentBinding,
} from './result.js';
import { createToolServer } from './server.js';

/** What the edge knows about a request before the protocol looks into it. */
export interface ToolCaller {
  readonly face: Face;
  /** The account that the request's key or access token belongs to. */
  readonly account: Extract<Credentials, { kind: 'account' }> | undefined;
  readonly address: string;
  /** Aborts when the caller has gone. */
  readonly signal: AbortSignal;
  /** Told when a call has been paid for. */
  readonly onPaid: () => void;
}

export interface EndpointParts {
  readonly search: Search;
  readonly wire: McpPaymentWire;
  readonly random: Random;
  readonly log: Log;
  /** The service's own version, for clients to show. */
  readonly version: string;
}

/** The tool protocol over web-standard requests, for every revision from one handler. */
export interface McpEndpoint {
  serve(request: Request, body: unknown, caller: ToolCaller): Promise<Response>;
  /** Ends the exchanges that still run. */
  close(): Promise<void>;
}

/** Open `subscriptions/listen` streams at the most; nothing here ever changes to tell them of. */
const SUBSCRIPTIONS_MAX = 256;

export function createMcpEndpoint(parts: EndpointParts): McpEndpoint {
  const callers = new WeakMap<Request, ToolCaller>();
  const handler = createMcpHandler(
    ({ era, requestInfo }) => {
      const caller = requestInfo && callers.get(requestInfo);
      if (!caller) throw new Error('a protocol request without its caller');
      const takesPayments = caller.face === 'gateway' && caller.account === undefined;
      const isCall = requestInfo.headers.get('mcp-method') === 'tools/call';
      const about = { era, version: parts.version, takesPayments, isCall };
      return createToolServer(about, (args, { mcpReq }) =>
        call(parts, caller, {
          args,
          meta: mcpReq._meta,
          signal: mcpReq.signal,
          binding: takesPayments && knowsExtension(mcpReq.envelope) ? 'extension' : 'tool-result',
        }),
      );
    },
    {
      maxSubscriptions: SUBSCRIPTIONS_MAX,
      onerror: (error) => parts.log.debug({ err: error }, 'a tool protocol request was refused'),
    },
  );
  return {
    serve: (request, body, caller) => {
      callers.set(request, caller);
      return handler.fetch(request, { parsedBody: body });
    },
    close: () => handler.close(),
  };
}

const capabilitiesSchema = z.object({
  [CLIENT_CAPABILITIES_META_KEY]: z.object({
    extensions: z.object({ [PAYMENT_EXTENSION]: z.object() }),
  }),
});

/** Whether a request says that its client knows the result type `payment_required`. */
function knowsExtension(envelope: unknown): boolean {
  return capabilitiesSchema.safeParse(envelope).success;
}

interface ToolCall {
  readonly args: unknown;
  readonly meta: Readonly<Record<string, unknown>> | undefined;
  readonly signal: AbortSignal;
  readonly binding: PaymentBinding;
}

/** One tool call is one search: the same pipeline, prices, limits and refusals as over HTTP. */
async function call(
  parts: EndpointParts,
  { face, account, address, signal, onPaid }: ToolCaller,
  { args, meta, signal: cancelled, binding }: ToolCall,
): Promise<CallToolResult> {
  const requestId = parts.random.uuid();
  const asked = toolArguments(args);
  if (isRefusal(asked)) return refusalResult(asked, requestId);
  const credentials = credentialsOf(account, meta);
  if (isRefusal(credentials)) return refusalResult(credentials, requestId);
  try {
    const reply = await parts.search({
      requestId,
      face,
      credentials,
      body: asked.search,
      address,
      signal: AbortSignal.any([signal, cancelled]),
    });
    if (reply.kind === 'results' && !reply.isFree) onPaid();
    return toolResult(reply, parts.wire, { binding, maxCharacters: asked.maxCharacters });
  } catch (error) {
    const refusal = expectedRefusal(error);
    if (refusal) return refusalResult(refusal, requestId);
    parts.log.error({ err: error, requestId }, 'a tool call failed by a bug');
    return refusalResult(BUG, requestId);
  }
}

const BUG = refuse(
  'internal_error',
  'Something went wrong on our side and nothing was charged for it. Call the tool again.',
);
