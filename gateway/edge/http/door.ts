import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { UnpaidWork } from '../../customers/limits/unpaid.js';
import type { Clock, Random } from '../../ground/domain/ports.js';
import { refuse, type Refusal } from '../../ground/domain/refusal.js';
import { FewByFew } from '../../ground/few-by-few.js';
import type { Socket } from 'node:net';
import { BATCH_SETTLEMENT } from '../../money/x402/channel-payload.js';
import { addressName } from '../../customers/limits/address.js';
import { clientAddress } from './client-address.js';
import { showToPages } from './cors.js';
import { errorResponse, sendRefusal } from './error-reply.js';
import { isPaid } from './paid.js';

export interface DoorParts {
  /** What is behind the door. */
  readonly listener: RequestListener;
  readonly work: Pick<UnpaidWork, 'objection' | 'bill'>;
  readonly random: Random;
  readonly clock: Pick<Clock, 'defer'>;
  readonly trustedProxies: number;
  /** Whether a request shows a key, or something in its place, where keys are taken. */
  readonly claimsKey?: (request: IncomingMessage) => boolean;
  /** Writes the refusal of a request that is not looked at; the connection ends with it. */
  readonly writeRefusal?: WriteRefusal;
}

/** Ends a reply with a refusal, in the form that its caller reads. */
export type WriteRefusal = (
  request: IncomingMessage,
  response: ServerResponse,
  refusal: Refusal,
  requestId: string,
) => void;

/**
 * Payments by channels that come in together in one round of the event loop: they share a commit, and
 * hold everybody else up for some milliseconds. Others have more to do before they take their turn.
 */
const VOUCHERS_PER_ROUND = 8;

/**
 * Looks at each request before anything else does: whether it is addressed as HTTP/1.1 asks, and
 * whether its network address may have more done for it without paying. What nobody has paid for is
 * billed when the reply is out.
 */
export function createDoor({
  listener,
  work,
  random,
  clock,
  trustedProxies,
  claimsKey = showsKey,
  writeRefusal = writeOwnRefusal,
}: DoorParts): RequestListener {
  const leaving = new WeakSet<Socket>();
  const delayFor = createDelays();
  const vouchers = new FewByFew(clock, VOUCHERS_PER_ROUND);
  const payments = new FewByFew(clock, 1);
  return (request, response) => {
    // Further requests on a connection that is being ended are not looked at.
    if (leaving.has(request.socket)) return;
    const address = clientAddress(request, trustedProxies);
    const malformed = checkHost(request);
    const refusal = malformed ?? work.objection(address, claimsKey(request) ? 'key' : 'nobody');
    if (refusal) {
      leaving.add(request.socket);
      const leave = () => {
        if (response.destroyed) return;
        const requestId = random.uuid();
        response.setHeader('X-Request-Id', requestId);
        response.setHeader('Connection', 'close');
        writeRefusal(request, response, refusal, requestId);
      };
      if (malformed) leave();
      else {
        const delay = delayFor(address);
        request.socket.once('close', delay.end);
        if (delay.ms === 0) leave();
        else setTimeout(leave, delay.ms);
      }
      return;
    }
    const before = bytesOf(request);
    response.once('close', () => {
      if (isPaid(response)) return;
      work.bill(address, { cpuMs: cpuMsOf(request), bytes: bytesOf(request) - before });
    });
    if (!pays(request)) {
      listener(request, response);
      return;
    }
    (isByChannel(request) ? vouchers : payments).enter(() => {
      if (!response.destroyed) listener(request, response);
    });
  };
}

/** Each refusal that an address waits for makes its next one wait so much longer. */
const DELAY_STEP_MS = 20;
const DELAY_MAX_MS = 5_000;

/**
 * How long an address that is refused waits for hearing so: not at all at first, and longer the more
 * of its connections wait already. A refusal costs nearly as much as a cheap request; connections
 * are capped, so waiting bounds how many an address can cause.
 */
function createDelays() {
  const waiting = new Map<string, number>();
  return (address: string): { readonly ms: number; readonly end: () => void } => {
    const name = addressName(address);
    const count = waiting.get(name) ?? 0;
    waiting.set(name, count + 1);
    const end = () => {
      const left = (waiting.get(name) ?? 1) - 1;
      if (left > 0) waiting.set(name, left);
      else waiting.delete(name);
    };
    return { ms: Math.min(DELAY_MAX_MS, count * DELAY_STEP_MS), end };
  };
}

/** RFC 9112, 3.2: one Host in every HTTP/1.1 request; two may be read differently in front of us. */
function checkHost({ rawHeaders, httpVersion }: IncomingMessage): Refusal | undefined {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.toLowerCase() === 'host') hosts += 1;
  }
  if (hosts > 1) return refuse('malformed_request', 'Send exactly one Host header.');
  if (hosts === 0 && httpVersion === '1.1') {
    return refuse('malformed_request', 'Send a Host header: HTTP/1.1 requires one.');
  }
  return undefined;
}

const pathOf = ({ url = '/' }: IncomingMessage) => url.split('?', 1)[0] ?? '/';

/** Whether a request shows a key, where keys are taken. Anybody can: see `UnpaidWork.objection`. */
function showsKey(request: IncomingMessage): boolean {
  if (request.headers.authorization === undefined) return false;
  const path = pathOf(request);
  return path === '/search' || path === '/mcp' || path.startsWith('/account');
}

/** Headers before the body on the wire are counted too; what a kept connection had before is not. */
const bytesOf = ({ socket }: IncomingMessage) => socket.bytesRead + socket.bytesWritten;

/** What a payment costs that does not settle, or a proof of one: most of it checks a signature. */
const CPU_MS_PAYMENT = 2;
/**
 * Milliseconds of processor that a request costs, by what it asks for; bench/README.md has how it was
 * measured. A list, because what one request uses of a shared thread cannot be told apart.
 */
const CPU_MS: readonly (readonly [prefix: string, cpuMs: number])[] = [
  ['/mcp', 4],
  ['/oauth', 4],
  ['/console', 2],
  ['/account', 1],
  // A proof is checked like the signature of a payment.
  ['/payments', CPU_MS_PAYMENT],
];
const CPU_MS_OTHER = 0.5;

/** Whether a request shows a payment. */
const pays = ({ headers }: IncomingMessage): boolean =>
  headers['payment-signature'] !== undefined || headers['x-payment'] !== undefined;

/**
 * Whether a payment says that it is one by a channel: known for a microsecond, before anything of it is
 * parsed. Who says so falsely, or in another spelling, is let in sooner or later, and nothing else.
 */
const isByChannel = ({ headers }: IncomingMessage): boolean => {
  const payment = headers['payment-signature'];
  return (
    typeof payment === 'string' && Buffer.from(payment, 'base64').includes(`"${BATCH_SETTLEMENT}"`)
  );
};

function cpuMsOf(request: IncomingMessage): number {
  const path = pathOf(request);
  const known = CPU_MS.find(([prefix]) => path.startsWith(prefix));
  if (known) return known[1];
  const isSigned = pays(request) || request.headers['sign-in-with-x'] !== undefined;
  return isSigned ? CPU_MS_PAYMENT : CPU_MS_OTHER;
}

/** Answers with as little work as can be, and closes: the next try has to connect again. */
const writeOwnRefusal: WriteRefusal = (request, response, refusal, requestId) => {
  if (pathOf(request) !== '/mcp') {
    // A page that may not read why it is refused takes this for a lost connection, and tries again.
    if (!/^\/(?:console|oauth)\//.test(pathOf(request))) showToPages(response);
    sendRefusal(response, refusal, requestId);
    return;
  }
  const { status, retryAfterSeconds = 1 } = refusal;
  const { detail, code } = errorResponse(refusal, requestId);
  const error = { code: -32_000, message: detail, data: { code } };
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Cache-Control': 'no-store',
    'Retry-After': String(retryAfterSeconds),
  });
  response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error }));
};
