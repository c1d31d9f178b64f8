/**
 * Names of pages as an operator writes them: one address, a host, or a pattern. They say what is
 * deleted, what is blocked, and what is wanted of an archive.
 */
import { canonicalUrl, pageUrl } from '../url.js';

/** What a name stands for. */
export type AddressPattern =
  /** `https://example.org/page`: that page alone. */
  | { readonly kind: 'address'; readonly urls: readonly string[] }
  /** `example.org`: every page of that host, on any port. */
  | { readonly kind: 'host'; readonly host: string }
  /** `*.example.org`: every page of that host and of those below it. */
  | { readonly kind: 'domain'; readonly host: string }
  /** `example.org/private/*`, `https://*.example.org/*.pdf`: `*` stands for anything. */
  | { readonly kind: 'glob'; readonly scheme: string; readonly parts: readonly string[] };

const HOST = /^[\p{L}\p{N}_-]+(?:\.[\p{L}\p{N}_-]+)*\.?$/iu;
const STARS_MAX = 10;

/** Reads a name; undefined where it is none of these. */
export function parsePattern(text: string): AddressPattern | undefined {
  const trimmed = text.trim();
  const isUrl = /^https?:\/\//iu.test(trimmed);
  if (!trimmed.includes('*')) return isUrl ? addressOf(trimmed) : withoutScheme(trimmed);
  const domain = /^\*\.(?<host>[^*/]+)$/u.exec(trimmed)?.groups?.host;
  if (domain !== undefined) {
    return HOST.test(domain) ? { kind: 'domain', host: hostOf(domain) } : undefined;
  }
  const scheme = isUrl ? trimmed.slice(0, trimmed.indexOf(':')).toLowerCase() : '';
  const rest = isUrl ? trimmed.slice(scheme.length + 3) : trimmed;
  const isTooWide = /^[*./]*$|\s/u.test(rest) || rest.split('*').length - 1 > STARS_MAX;
  return isTooWide ? undefined : globOf(scheme, rest);
}

/** Files keep addresses nearly as they are written, crawls keep them shorter: both are meant. */
function addressOf(text: string): AddressPattern | undefined {
  const urls = new Set([pageUrl(text), canonicalUrl(text)].filter((url) => url !== undefined));
  return urls.size === 0 ? undefined : { kind: 'address', urls: [...urls] };
}

/** A host, or a page of it over http and https. */
function withoutScheme(text: string): AddressPattern | undefined {
  if (HOST.test(text)) return { kind: 'host', host: hostOf(text) };
  const url = canonicalUrl(`https://${text}`);
  if (url === undefined) return undefined;
  return globOf('', text.includes('/') ? bare(url) : new URL(url).host);
}

/** Where a host ends and a path begins decides about case: only hosts have none. */
function globOf(scheme: string, text: string): AddressPattern {
  const slash = text.indexOf('/');
  const host = slash < 0 ? text : text.slice(0, slash);
  const path = slash < 0 ? '/*' : text.slice(slash);
  return { kind: 'glob', scheme, parts: (host.toLowerCase() + path).split('*') };
}

const hostOf = (text: string): string => {
  const parsed = canonicalUrl(`https://${text}/`);
  return parsed === undefined ? text.toLowerCase() : new URL(parsed).hostname;
};

const bare = (url: string): string => url.slice(url.indexOf('://') + 3);

/** Whether an address, as pages have it, is one of those that the pattern names. */
export function matchesPattern(url: string, pattern: AddressPattern): boolean {
  switch (pattern.kind) {
    case 'address':
      return pattern.urls.includes(url);
    case 'host':
      return new URL(url).hostname === pattern.host;
    case 'domain': {
      const { hostname } = new URL(url);
      return hostname === pattern.host || hostname.endsWith(`.${pattern.host}`);
    }
    case 'glob':
      return (
        (pattern.scheme === '' || url.startsWith(`${pattern.scheme}://`)) &&
        matchesParts(bare(url), pattern.parts)
      );
  }
}

/** Greedy from the left, which finds a match wherever there is one; in time of the text's length. */
function matchesParts(text: string, parts: readonly string[]): boolean {
  const [first = '', ...rest] = parts;
  const last = rest.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}
