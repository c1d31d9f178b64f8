import type { ServerResponse } from 'node:http';
import type { Transform } from 'node:stream';
import { promisify } from 'node:util';
import { brotliCompress, constants, createBrotliCompress, createGzip, gzip } from 'node:zlib';

/** The content codings that are spoken here (RFC 9110, 8.4.1; RFC 7932 for `br`). */
export type Encoding = 'br' | 'gzip' | 'identity';

/** Bodies below this many bytes go out as they are: one packet carries them anyway. */
export const COMPRESSED_BYTES_MIN = 1024;

/**
 * What to send to whoever sent this `Accept-Encoding` (RFC 9110, 12.5.3): the coding with the highest
 * weight, the smaller one of two. Without the header, or with one that excludes everything, the
 * bytes as they are.
 */
export function acceptedEncoding(header: string | undefined): Encoding {
  if (header === undefined || header === '') return 'identity';
  const weights = weightsOf(header);
  const weightOf = (coding: string) => weights.get(coding) ?? weights.get('*') ?? 0;
  const br = weightOf('br');
  const zipped = Math.max(weightOf('gzip'), weights.get('x-gzip') ?? 0);
  const plain = weights.get('identity') ?? 0;
  if (br > 0 && br >= zipped && br >= plain) return 'br';
  return zipped > 0 && zipped >= plain ? 'gzip' : 'identity';
}

/** An `Accept-Encoding` is a few words long; whatever follows the first ones is not looked at. */
const CODINGS_MAX = 20;

function weightsOf(header: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>();
  for (const part of header.split(',', CODINGS_MAX)) {
    const [coding = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
    const given = parameters.find((parameter) => parameter.startsWith('q='));
    const weight = given === undefined ? 1 : Number(given.slice(2));
    if (coding !== '') weights.set(coding, weight >= 0 && weight <= 1 ? weight : 0);
  }
  return weights;
}

/**
 * How hard to press what is sent once: with these, 25 KB of results are 9 KB after 0.3 to 0.6
 * milliseconds, on a thread of the pool (bench/README.md).
 */
const ONCE = { br: 3, gzip: 6 } as const;
/** For what is pressed once and sent to everyone. */
const FOR_GOOD = { br: constants.BROTLI_MAX_QUALITY, gzip: 9 } as const;

const toBrotli = promisify(brotliCompress);
const toGzip = promisify<Uint8Array, { level: number }, Buffer>(gzip);

type Effort = Readonly<Record<'br' | 'gzip', number>>;

function compressed(
  body: Uint8Array,
  encoding: 'br' | 'gzip',
  effort: Effort,
): Promise<Uint8Array> {
  return encoding === 'gzip'
    ? toGzip(body, { level: effort.gzip })
    : toBrotli(body, {
        params: {
          [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
          [constants.BROTLI_PARAM_QUALITY]: effort.br,
          [constants.BROTLI_PARAM_SIZE_HINT]: body.length,
        },
      });
}

/**
 * Ends a reply with a text, compressed where its caller accepts that. The bytes themselves are the
 * same for everyone: what was stored, signed or charged is what comes out of the coding.
 *
 * Not for pages that hold a secret beside something a stranger may choose: their length would tell.
 */
export function sendText(response: ServerResponse, body: Uint8Array): void {
  if (body.length < COMPRESSED_BYTES_MIN) {
    finish(response, body, 'identity');
    return;
  }
  const encoding = encodingFor(response);
  if (encoding === 'identity') finish(response, body, encoding);
  else finishLater(response, compressed(body, encoding, ONCE), { body, encoding });
}

/** Two results of a search fit (RFC 7932, 9.1: 2^18 bytes). */
const EVENT_WINDOW_BITS = 18;

/**
 * What a stream of events goes through on its way to a caller that accepts compression, and
 * nothing for others: each event is flushed, so none waits for the next. Sets the reply's headers.
 */
export function eventCoders(response: ServerResponse): readonly Transform[] {
  const encoding = encodingFor(response);
  if (encoding === 'identity') return [];
  response.setHeader('Content-Encoding', encoding);
  const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_LGWIN, BROTLI_OPERATION_FLUSH } = constants;
  const params = { [BROTLI_PARAM_QUALITY]: ONCE.br, [BROTLI_PARAM_LGWIN]: EVENT_WINDOW_BITS };
  return [
    encoding === 'br'
      ? createBrotliCompress({ params, flush: BROTLI_OPERATION_FLUSH })
      : createGzip({ level: ONCE.gzip, flush: constants.Z_SYNC_FLUSH }),
  ];
}

/** A text that never changes, such as a style sheet: each coding of it is made once. */
export interface FixedText {
  /** Ends a reply with it. */
  send(response: ServerResponse): void;
}

export function fixedText(body: Uint8Array): FixedText {
  const made = new Map<Encoding, Promise<Uint8Array>>();
  return {
    send(response) {
      const isShort = body.length < COMPRESSED_BYTES_MIN;
      const encoding = isShort ? 'identity' : encodingFor(response);
      if (encoding === 'identity') {
        finish(response, body, encoding);
        return;
      }
      const known = made.get(encoding) ?? compressed(body, encoding, FOR_GOOD);
      made.set(encoding, known);
      finishLater(response, known, { body, encoding });
    },
  };
}

/** The coding for a reply; caches learn that another caller may get another one. */
function encodingFor(response: ServerResponse): Encoding {
  response.appendHeader('Vary', 'Accept-Encoding');
  const header = response.req.headers['accept-encoding'];
  return acceptedEncoding(typeof header === 'string' ? header : undefined);
}

/** Sends what comes of a compression; the body as it is where none does, which zlib never says why. */
function finishLater(
  response: ServerResponse,
  coming: Promise<Uint8Array>,
  { body, encoding }: { readonly body: Uint8Array; readonly encoding: Encoding },
): void {
  coming.then(
    (bytes) => finish(response, bytes, encoding),
    () => finish(response, body, 'identity'),
  );
}

function finish(response: ServerResponse, bytes: Uint8Array, encoding: Encoding): void {
  if (response.destroyed) return;
  if (encoding !== 'identity') response.setHeader('Content-Encoding', encoding);
  response.setHeader('Content-Length', bytes.length);
  response.end(bytes);
}
