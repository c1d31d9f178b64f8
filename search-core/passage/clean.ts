const INVISIBLE = /[\x00-\x08\x0e-\x1f\x7f\ufeff\u200b]+/g;
/** White space beyond ASCII, and what cannot be seen: U+007F, U+200B, U+FEFF. */
const ODD = /[^\S\n ]|[\x7f\ufeff\u200b]/;
const [LINE_FEED, SPACE] = [10, 32];

/**
 * Whether nothing in a text is to be cleaned, but perhaps white space at its ends. Most texts are
 * so, and a loop over their characters sees it several times faster than an expression.
 */
function isClean(text: string): boolean {
  let before = 0;
  let last = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code > SPACE) {
      if (code >= 0x7f && ODD.test(text.charAt(i))) return false;
    } else if (code === SPACE) {
      if (last === SPACE || last === LINE_FEED) return false;
    } else {
      if (code !== LINE_FEED || last === SPACE) return false;
      if (last === LINE_FEED && before === LINE_FEED) return false;
    }
    before = last;
    last = code;
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
