/**
 * Text as it is stored and shown: `\n` between lines, `\n\n` between paragraphs, single spaces
 * elsewhere, no control characters.
 */
export function cleanText(text: string): string {
  return text

    .replace(/[\x00-\x08\x0e-\x1f\x7f\ufeff\u200b]+/g, '')
    .replace(/[^\S\n]{2,}|[^\S\n ]/g, ' ')
    .replace(/ ?\n[\n ]*/g, (run) => (run.indexOf('\n') === run.lastIndexOf('\n') ? '\n' : '\n\n'))
    .trim();
}

/** A title for display: one line, no outer space; the URL where nothing is left of it. */
export function cleanTitle(title: string, url: string): string {
  const clean = cleanText(title).replace(/\s+/g, ' ');
  return clean === '' ? url : clean;
}
