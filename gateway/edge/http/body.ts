import type { IncomingMessage, ServerResponse } from 'node:http';
import { refuse, type Refusal } from '../../ground/domain/refusal.js';

export interface BodyLimits {
  /** Bytes of a body at the most. */
  readonly bytesMax: number;
  /** Milliseconds until the last byte must have come. */
  readonly timeoutMs: number;
}

/**
 * Reads and parses the JSON body of a request, in the order in which a fault can be known: media
 * type (415), length (413), time (408), UTF-8 and JSON (400). What is too long is read on for a
 * while and thrown away, because a caller that is still sending would not see the refusal.
 */
export async function readJsonBody(
  request: IncomingMessage,
  limits: BodyLimits,
): Promise<{ readonly value: unknown } | Refusal> {
  const media = checkMediaType(request);
  if (media) return media;
  const bytes = await readBytes(request, limits);
  if (!(bytes instanceof Uint8Array)) return bytes;
  return parseJson(bytes);
}

/** Reads a form (`application/x-www-form-urlencoded`, WHATWG URL 5.1) within the same limits. */
export async function readFormBody(
  request: IncomingMessage,
  limits: BodyLimits,
): Promise<URLSearchParams | Refusal> {
  const bytes = await readBytes(request, limits);
  return bytes instanceof Uint8Array
    ? new URLSearchParams(Buffer.from(bytes).toString('utf8'))
    : bytes;
}

/** After a refused body that has not come whole: the reply is the last one on its connection. */
export function hangUpUnfinished(request: IncomingMessage, response: ServerResponse): void {
  if (!request.complete) response.setHeader('Connection', 'close');
}

function checkMediaType(request: IncomingMessage): Refusal | undefined {
  const [type = '', ...parameters] = (request.headers['content-type'] ?? '').split(';');
  const charset = parameters
    .map((parameter) => parameter.trim().toLowerCase())
    .find((parameter) => parameter.startsWith('charset='));
  if (type.trim().toLowerCase() !== 'application/json') {
    return refuse('unsupported_media_type', 'Send the header "Content-Type: application/json".');
  }
  if (charset !== undefined && !/^charset="?utf-8"?$/.test(charset)) {
    return refuse('unsupported_media_type', 'The body must be UTF-8 (RFC 8259).');
  }
  if ((request.headers['content-encoding'] ?? 'identity') !== 'identity') {
    return refuse('unsupported_media_type', 'Send the body without a Content-Encoding.');
  }
  return undefined;
}

/** Bytes of a refused body that are read and thrown away before the connection is closed. */
const DISCARDED_BYTES_MAX = 1024 * 1024;

function tooLarge(limits: BodyLimits): Refusal {
  return refuse('payload_too_large', `The body may have at most ${limits.bytesMax} bytes.`);
}

function readBytes(request: IncomingMessage, limits: BodyLimits): Promise<Uint8Array | Refusal> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const settle = (outcome: Uint8Array | Refusal) => {
      clearTimeout(timer);
      request.off('data', onData).off('end', onEnd).off('close', onClose);
      if (!(outcome instanceof Uint8Array)) request.pause();
      resolve(outcome);
    };
    const onData = (chunk: Buffer) => {
      length += chunk.length;
      if (length <= limits.bytesMax) chunks.push(chunk);
      else if (length > limits.bytesMax + DISCARDED_BYTES_MAX) settle(tooLarge(limits));
    };
    const onEnd = () => settle(length > limits.bytesMax ? tooLarge(limits) : Buffer.concat(chunks));
    const onClose = () => settle(refuse('malformed_request', 'The body ended early.'));
    const seconds = limits.timeoutMs / 1000;
    const late = () =>
      settle(
        length > limits.bytesMax
          ? tooLarge(limits)
          : refuse('request_timeout', `The whole body must arrive within ${seconds} seconds.`),
      );
    const timer = setTimeout(late, limits.timeoutMs);
    request.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose);
  });
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function parseJson(bytes: Uint8Array): { value: unknown } | Refusal {
  try {
    return { value: JSON.parse(utf8.decode(bytes)) as unknown };
  } catch {
    return refuse('malformed_request', 'The body isn’t valid JSON.');
  }
}
