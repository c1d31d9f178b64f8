import { parsePattern } from '../blocked/pattern.js';

/**
 * What the index is asked for: `*.host` or a beginning with `*`; undefined where the pattern names no
 * host, because then it would have to be asked for everything.
 */
export function queryOf(text: string): string | undefined {
  const pattern = parsePattern(text);
  switch (pattern?.kind) {
    case 'address':
      return pattern.urls[0];
    case 'host':
      return `${pattern.host}/*`;
    case 'domain':
      return `*.${pattern.host}`;
    case 'glob': {
      const [first = '', second = ''] = pattern.parts;
      if (first.includes('/')) return pattern.parts.length > 1 ? `${first}*` : first;
      const domain = /^\.(?<host>[\w-]+(?:\.[\w-]+)*)\//u.exec(second)?.groups?.host;
      return first === '' && domain !== undefined ? `*.${domain}` : undefined;
    }
    case undefined:
      return undefined;
  }
}
