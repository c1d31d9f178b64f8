import { AbortedError, ConnectionError, ProtocolError, TimeoutError } from './errors.js';

/** More than twenty results of 8,000 characters can take, however they are escaped. */
const BODY_BYTES_MAX = 16 * 1024 * 1024;

/** One complete answer. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** One try: a POST with its body, or a GET without one. */
export interface Try {
  readonly url: string;
  readonly body?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

async function readText(response: Response): Promise<string> {
  if (response.body === null) return '';
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.byteLength;
    if (bytes > BODY_BYTES_MAX) {
      await reader.cancel();
      throw new ProtocolError('the reply is too large for a search response');
    }
    text += decoder.decode(value, { stream: true });
  }
}

/**
 * Sends one request and reads its whole answer.
 * @throws {TimeoutError} after `timeoutMs`, body included
 * @throws {AbortedError} when the caller's signal aborts
 * @throws {ConnectionError} when no complete answer arrives
 */
export async function sendOnce(fetcher: typeof fetch, request: Try): Promise<Answer> {
  if (isAborted(request.signal)) throw new AbortedError('the call was aborted');
  const stop = new AbortController();
  const onAbort = () => stop.abort();
  request.signal?.addEventListener('abort', onAbort);
  const timer = setTimeout(onAbort, request.timeoutMs);
  try {
    const response = await fetcher(request.url, {
      method: request.body === undefined ? 'GET' : 'POST',
      headers: request.headers,
      ...(request.body !== undefined && { body: request.body }),
      // Credentials never follow a redirect.
      redirect: 'manual',
      signal: stop.signal,
    });
    return { status: response.status, headers: response.headers, text: await readText(response) };
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    if (isAborted(request.signal)) throw new AbortedError('the call was aborted');
    if (stop.signal.aborted)
      throw new TimeoutError(`no complete answer within ${request.timeoutMs} ms`);
    throw new ConnectionError(`no complete answer from ${request.url}: ${causeOf(error)}`, {
      cause: error,
    });
  } finally {
    clearTimeout(timer);
    request.signal?.removeEventListener('abort', onAbort);
  }
}

const isAborted = (signal: AbortSignal | undefined) => signal?.aborted === true;

/** Why a request failed, in a few words. Node's fetch hides the reason (`ECONNREFUSED`) in `cause`. */
export function causeOf(error: unknown): string {
  const { message, cause } = (error ?? {}) as { message?: unknown; cause?: unknown };
  const inner = (cause ?? {}) as { message?: unknown; code?: unknown };
  for (const text of [inner.message, inner.code, message]) {
    if (typeof text === 'string' && text !== '') return text;
  }
  return 'the connection failed';
}
