/**
 * Addresses of pages. `pageUrl` is what every page needs (an absolute web address, serialised as
 * a URI); `canonicalUrl` also removes what does not tell pages apart.
 */
import { parseUrl } from '../../network/parse-url.js';
import { PAGE_LIMITS } from './page.js';

/**
 * The address as an RFC 3986 URI without its fragment, or undefined where it is not an absolute
 * http(s) address, holds credentials, or is longer than 2,048 characters.
 */
export function pageUrl(text: string, base?: string): string | undefined {
  const parsed = parseWebUrl(text, base);
  if (!parsed) return undefined;
  parsed.hash = '';
  return withinLimit(parsed);
}

/**
 * One address for one page: no fragment, no tracking parameters, no default port, no trailing dot
 * on the host, percent-encoding in its normal form (RFC 3986, section 6.2.2), empty query removed.
 * Idempotent. The order of parameters, trailing slashes and "www." stay: servers do tell pages
 * apart by them, and the page's own canonical link says where they do not.
 */
export function canonicalUrl(text: string, base?: string): string | undefined {
  const parsed = parseWebUrl(text, base);
  if (!parsed) return undefined;
  parsed.hash = '';
  if (parsed.hostname.endsWith('.')) parsed.hostname = parsed.hostname.replace(/\.+$/u, '');
  if (parsed.hostname === '') return undefined;
  parsed.pathname = normalPercents(parsed.pathname);
  parsed.search = withoutTracking(normalPercents(parsed.search));
  return withinLimit(parsed);
}

function parseWebUrl(text: string, base: string | undefined): URL | undefined {
  const parsed = text.length > 4 * PAGE_LIMITS.url ? undefined : parseUrl(text, base);
  if (!parsed) return undefined;
  const isWeb = parsed.protocol === 'http:' || parsed.protocol === 'https:';
  return isWeb && parsed.username === '' && parsed.password === '' ? parsed : undefined;
}

/** The WHATWG serialisation leaves a few characters that RFC 3986 does not allow. */
function withinLimit(url: URL): string | undefined {
  const rest = (url.pathname + url.search)
    .replace(/%(?![0-9a-f]{2})/giu, '%25')
    .replace(/[[\]|\\^`{}"<>]/gu, (character) => {
      return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
    });
  const uri = url.origin + rest;
  return uri.length <= PAGE_LIMITS.url ? uri : undefined;
}

/** Decodes what need not be encoded (letters, digits, `-._~`), upper-cases the other escapes. */
function normalPercents(text: string): string {
  return text.replace(/%([0-9a-f]{2})/giu, (escape, hex: string) => {
    const character = String.fromCharCode(Number.parseInt(hex, 16));
    return /[A-Za-z0-9\-._~]/u.test(character) ? character : escape.toUpperCase();
  });
}

/** Parameters that only tell where a visitor came from or which visit this is. */
const TRACKING =
  /^(?:utm_\w+|fbclid|gclid|gbraid|wbraid|dclid|msclkid|yclid|twclid|igshid|mc_[ce]id|_ga|_gl|mkt_tok|hsctatracking|_hs(?:enc|mi)|ref_src|phpsessid|jsessionid|aspsessionid\w*)$/iu;

function withoutTracking(search: string): string {
  if (search.length < 2) return '';
  const kept = search
    .slice(1)
    .split('&')
    .filter((pair) => pair !== '' && !TRACKING.test(pair.split('=', 1)[0] ?? ''));
  return kept.length === 0 ? '' : `?${kept.join('&')}`;
}
