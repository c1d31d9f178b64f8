import { isIPv4, isIPv6 } from 'node:net';

/**
 * The name under which an address is limited: an IPv4 address itself (also when it is written as
 * an IPv4-mapped IPv6 address), the first 64 bits of an IPv6 address, because one subscriber has
 * at least that many (RFC 6177). Anything else shares one name.
 */
export function addressName(text: string): string {
  const mapped = /^::ffff:([0-9.]+)$/i.exec(text)?.[1];
  if (mapped !== undefined && isIPv4(mapped)) return mapped;
  if (isIPv4(text)) return text;
  const bare = text.split('%')[0] ?? '';
  return isIPv6(bare) ? `${firstGroups(bare).map(shortGroup).join(':')}::/64` : 'unknown';
}

/** A name under which an address is counted, and its allowance as a multiple of one address's. */
export interface CountedName {
  readonly name: string;
  readonly share: number;
}

/** What holders of larger IPv6 prefixes may use together, as multiples of one address's allowance. */
const PREFIX_SHARES = { 56: 1.5, 48: 2 } as const;

/**
 * All names under which an address is counted, its own first. One site may hold a /56 or a /48 (RFC
 * 6177) and so as many /64s as it likes: those are counted together, with larger allowances.
 */
export function countedNames(text: string): readonly [CountedName, ...CountedName[]] {
  const own = { name: addressName(text), share: 1 };
  if (!own.name.endsWith('::/64')) return [own];
  const groups = firstGroups(text.split('%')[0] ?? '');
  const [a = '0', b = '0', c = '0', d = '0'] = groups.map(shortGroup);
  const upper = (Number.parseInt(d, 16) & 0xff00).toString(16);
  return [
    own,
    { name: `${a}:${b}:${c}:${upper}::/56`, share: PREFIX_SHARES[56] },
    { name: `${a}:${b}:${c}::/48`, share: PREFIX_SHARES[48] },
  ];
}

/** The first four of the eight groups of an IPv6 address. */
function firstGroups(text: string): string[] {
  const [head = '', tail] = text.toLowerCase().split('::');
  const front = head === '' ? [] : head.split(':');
  const back = tail === undefined || tail === '' ? [] : tail.split(':');
  const gap = tail === undefined ? 0 : 8 - front.length - back.length;
  const groups = [...front, ...Array.from({ length: gap }, () => '0'), ...back];
  return groups.slice(0, 4);
}

const shortGroup = (group: string) => group.replace(/^0+(?=.)/, '');
