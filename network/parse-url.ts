/**
 * An address by the WHATWG URL standard, or undefined where the text is none. It stands for
 * `URL.canParse`: once Node 20 has compiled that, it refuses every text with an ä, é or ß.
 */
export function parseUrl(text: string, base?: string): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}
