const INVISIBLE = /[\x00-\x08\x0e-\x1f\x7f\ufeff\u200b]+/g;
/** White space beyond ASCII, and what cannot be seen: U+200B, U+FEFF. */
const ODD = /[^\x00-\x7f\S]|[\ufeff\u200b]/;

/** What a byte may be: a space, a line feed, or one that is never in a clean text; 0 for any other. */
const [SPACE, LINE, CONTROL] = [1, 2, 4];
const KINDS = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte === 0x20) return SPACE;
  if (byte === 0x0a) return LINE;
  return byte < 0x20 || byte === 0x7f ? CONTROL : 0;
});

/** What must not follow two bytes, by 4 · the kind of the first + that of the second. */
const BANNED = Uint8Array.from({ length: 16 }, (_, kinds) => {
  const [before, last] = [kinds >> 2, kinds & 3];
  if (last === 0) return CONTROL;
  const isParagraph = before === LINE && last === LINE;
  return last === SPACE || isParagraph ? CONTROL | SPACE | LINE : CONTROL | SPACE;
});

const encoder = new TextEncoder();
let bytes = new Uint8Array(1 << 16);

/**
 * Whether nothing in a text is to be cleaned, but perhaps white space at its ends. Most texts are
 * so, and a loop over their bytes sees it several times faster than an expression.
 */
function isClean(text: string): boolean {
  if (bytes.length < 3 * text.length) bytes = new Uint8Array(4 * text.length);
  const { written } = encoder.encodeInto(text, bytes);
  if (written !== text.length && ODD.test(text)) return false;
  let before = 0;
  let banned = CONTROL;
  for (let i = 0; i < written; i++) {
    const kind = KINDS[bytes[i] ?? 0] ?? 0;
    if ((kind & banned) !== 0) return false;
    banned = BANNED[(before << 2) | kind] ?? 0;
    before = kind;
  }
  return true;
}

/**
 * Text as it is stored and shown: `\n` between lines, `\n\n` between paragraphs, single spaces
 * elsewhere, no control characters.
 */
export function cleanText(text: string): string {
  if (isClean(text)) return text.trim();
  return text
    .replace(INVISIBLE, '')
    .replace(/[^\S\n]{2,}|[^\S\n ]/g, ' ')
    .replace(/ ?\n[\n ]+| \n/g, (run) => (run.split('\n').length > 2 ? '\n\n' : '\n'))
    .trim();
}

/** A title for display: one line, no outer space; the URL where nothing is left of it. */
export function cleanTitle(title: string, url: string): string {
  const clean = cleanText(title).replace(/\s+/g, ' ');
  return clean === '' ? url : clean;
}
