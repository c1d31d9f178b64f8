import { parseUrl } from '../../network/parse-url.js';

/**
 * The words that a page's address adds to its title. People ask for pages by names and numbers that
 * stand in the address alone: `PEP 279` is `https://peps.python.org/pep-0279/`, where the title
 * says "The enumerate() built-in function".
 */

/** Endings that say how a page is made and not what it is about. */
const ENDING = /\.(?:html?|xhtml|php|aspx?|jsp|md|txt)$/iu;
const LEADING_ZEROS = /(?<![\p{L}\p{N}])0+(\d+)(?![\p{L}\p{N}])/gu;

/** All that stands in the title field of a page. */
export function titleText({
  url,
  title,
}: {
  readonly url: string;
  readonly title: string;
}): string {
  return `${title} ${addressText(url)}`;
}

/**
 * The path of an address as text; a number with leading zeros stands there without them, too.
 * An address that cannot be parsed has no words.
 */
export function addressText(url: string): string {
  return decoded(parseUrl(url)?.pathname ?? '')
    .replace(ENDING, '')
    .replace(LEADING_ZEROS, '$1 $&');
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
