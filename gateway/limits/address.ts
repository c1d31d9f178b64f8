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
  return isIPv6(bare) ? `${firstGroups(bare)}::/64` : 'unknown';
}

/** The first four of the eight groups of an IPv6 address, each without leading zeros. */
function firstGroups(text: string): string {
  const [head = '', tail] = text.toLowerCase().split('::');
  const front = head === '' ? [] : head.split(':');
  const back = tail === undefined || tail === '' ? [] : tail.split(':');
  const gap = tail === undefined ? 0 : 8 - front.length - back.length;
  const groups = [...front, ...Array.from({ length: gap }, () => '0'), ...back];
  return groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':');
}
