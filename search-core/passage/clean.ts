const INVISIBLE = /[\x00-\x08\x0e-\x1f\x7f\ufeff\u200b]+/g;
/** Most texts are clean: one look finds whether anything is to be done. */

const UNCLEAN = /[\x00-\x09\x0b-\x1f\x7f\ufeff\u200b]|[^\S\n ]|  |\n | \n|\n\n\n/;

/**
 * Text as it is stored and shown: `\n` between lines, `\n\n` between paragraphs, single spaces
 * elsewhere, no control characters.
 */
export function cleanText(text: string): string {
  if (!UNCLEAN.test(text)) return text.trim();
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
