/**
 * The character encoding of a web page, as HTML's standard finds it ("Determining the character
 * encoding", WHATWG HTML 13.2.3.2): byte order mark, then HTTP, then the page's own declaration in
 * its first 1,024 bytes; where none of them helps, UTF-8 if the bytes are valid, else windows-1252.
 */
const PRESCAN_BYTES = 1_024;

/** Decodes a page; `contentType` is the header's value. Never throws: bad bytes become U+FFFD. */
export function decodePage(bytes: Uint8Array, contentType: string | undefined): string {
  const marked = byteOrderMark(bytes);
  if (marked) return new TextDecoder(marked).decode(bytes);
  const named = decoderFor(charsetOf(contentType)) ?? decoderFor(declared(bytes));
  if (named) return named.decode(bytes);
  return new TextDecoder(isUtf8(bytes) ? 'utf-8' : 'windows-1252').decode(bytes);
}

function byteOrderMark([a, b, c]: Uint8Array): string | undefined {
  if (a === 0xef && b === 0xbb && c === 0xbf) return 'utf-8';
  if (a === 0xfe && b === 0xff) return 'utf-16be';
  return a === 0xff && b === 0xfe ? 'utf-16le' : undefined;
}

function charsetOf(contentType: string | undefined): string | undefined {
  return /charset\s*=\s*["']?\s*([^\s"';,]+)/iu.exec(contentType ?? '')?.[1];
}

/** The declaration in the page; one that says UTF-16 is lying, since it could be read as ASCII. */
function declared(bytes: Uint8Array): string | undefined {
  const head = new TextDecoder('latin1').decode(bytes.subarray(0, PRESCAN_BYTES));
  const found =
    /<meta[^>]{0,200}charset\s*=\s*["']?\s*([^\s"'/>;]+)/iu.exec(head)?.[1] ??
    /^<\?xml[^>]{0,100}encoding\s*=\s*["']([^"']+)/iu.exec(head)?.[1];
  return found !== undefined && /^utf-?16/iu.test(found) ? 'utf-8' : found;
}

function decoderFor(label: string | undefined): InstanceType<typeof TextDecoder> | undefined {
  if (label === undefined) return undefined;
  try {
    return new TextDecoder(label);
  } catch {
    // A label that no standard knows is as good as none.
    return undefined;
  }
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    // A page cut off in the middle of a character is still UTF-8.
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}
