/** robots.txt: the Robots Exclusion Protocol, RFC 9309. */

export interface Robots {
  /** Whether the crawler may fetch a path with its query. */
  allows(path: string): boolean;
  /** Why it may not, where it may not. */
  readonly reason: string;
  /** `Crawl-delay` in milliseconds, where the file names one (not in the RFC, widely used). */
  readonly delayMs: number | undefined;
  /** Addresses of sitemaps that the file names. */
  readonly sitemaps: readonly string[];
}

interface Rule {
  readonly isAllowed: boolean;
  readonly pattern: string;
}

/** RFC 9309, section 2.5: at least 500 KiB must be read. */
export const ROBOTS_BYTES_MAX = 512_000;
const RULES_MAX = 10_000;
const DELAY_SECONDS_MAX = 60;

const NO_RULES = { reason: 'robots_disallowed', delayMs: undefined, sitemaps: [] } as const;
export const ALLOW_ALL: Robots = { ...NO_RULES, allows: () => true };

/** Nothing may be fetched, because the rules could not be read. */
export function disallowAll(reason: string): Robots {
  return { ...NO_RULES, allows: () => false, reason };
}

interface Group {
  readonly agents: string[];
  readonly rules: Rule[];
  delaySeconds?: number;
}

/** Reads a robots.txt for the crawler with this product token (case does not count). */
export function parseRobots(text: string, productToken: string): Robots {
  const { groups, sitemaps } = parseGroups(text);
  const token = productToken.toLowerCase();
  const own = groups.filter(({ agents }) => agents.includes(token));
  // Section 2.2.1: groups of one crawler are merged; the star group counts where there is none.
  const chosen = own.length > 0 ? own : groups.filter(({ agents }) => agents.includes('*'));
  const rules = chosen.flatMap((group) => group.rules);
  const delay = chosen.find((group) => group.delaySeconds !== undefined)?.delaySeconds;
  return {
    ...NO_RULES,
    allows: (path) => path === '/robots.txt' || isAllowed(rules, path),
    delayMs: delay === undefined ? undefined : Math.min(delay, DELAY_SECONDS_MAX) * 1_000,
    sitemaps,
  };
}

function parseGroups(text: string): { groups: Group[]; sitemaps: string[] } {
  const groups: Group[] = [];
  const sitemaps: string[] = [];
  let isNaming = false;
  let rules = 0;
  for (const line of text.replace(/^\uFEFF/u, '').split(/\r\n?|\n/u)) {
    const [, key = '', value = ''] = /^\s*([A-Za-z-]+)\s*:\s*([^#]*)/u.exec(line) ?? [];
    const name = key.toLowerCase();
    const trimmed = value.trim();
    const group = groups.at(-1);
    if (name === 'user-agent') {
      const agent = /^[*]|^[A-Za-z_-]+/u.exec(trimmed)?.[0].toLowerCase() ?? '';
      if (isNaming && group) group.agents.push(agent);
      else groups.push({ agents: [agent], rules: [] });
      isNaming = true;
    } else if (name === 'sitemap') {
      sitemaps.push(trimmed);
    } else if (name === 'allow' || name === 'disallow') {
      isNaming = false;
      rules += 1;
      if (trimmed !== '' && rules <= RULES_MAX) {
        group?.rules.push({ isAllowed: name === 'allow', pattern: normal(trimmed) });
      }
    } else if (name === 'crawl-delay') {
      isNaming = false;
      const seconds = Number(trimmed);
      if (group && seconds >= 0) group.delaySeconds = seconds;
    }
  }
  return { groups, sitemaps };
}

/** Section 2.2.2: the longest match decides; of two as long, allow. */
function isAllowed(rules: readonly Rule[], path: string): boolean {
  const target = normal(path);
  let longest = -1;
  let allowed = true;
  for (const { isAllowed: isAllow, pattern } of rules) {
    const isLonger = pattern.length > longest || (pattern.length === longest && isAllow);
    if (isLonger && matches(pattern, target)) {
      longest = pattern.length;
      allowed = isAllow;
    }
  }
  return allowed;
}

/** Section 2.2.3: `*` for anything, `$` for the end; without backtracking over the whole path. */
function matches(pattern: string, path: string): boolean {
  const isAnchored = pattern.endsWith('$');
  const [first = '', ...rest] = (isAnchored ? pattern.slice(0, -1) : pattern).split('*');
  if (!path.startsWith(first)) return false;
  let at = first.length;
  for (const [index, part] of rest.entries()) {
    if (isAnchored && index === rest.length - 1) {
      return path.length - part.length >= at && path.endsWith(part);
    }
    const found = path.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return !isAnchored || at === path.length;
}

/** Octets are compared in percent-encoded form; unreserved characters decoded. */
function normal(path: string): string {
  return path
    .replace(/[^\u0021-\u007E]+/gu, (text) =>
      encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\uFFFD')),
    )
    .replace(/%([0-9a-f]{2})/giu, (escape, hex: string) => {
      const character = String.fromCharCode(Number.parseInt(hex, 16));
      return /[A-Za-z0-9\-._~]/u.test(character) ? character : escape.toUpperCase();
    });
}
