/** Connections to hosts that strangers name, to allowed addresses only. */
import { lookup as systemLookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';

export interface AddressCheck {
  /** Whether an IP address (no brackets) may be connected to. */
  readonly isAllowedAddress: (address: string) => boolean;
  /** All addresses of a host name. */
  readonly resolve: (host: string) => Promise<readonly string[]>;
}

export class RefusedAddress extends Error {}

/** All addresses that this machine knows of a host name. */
export async function resolveHost(host: string): Promise<string[]> {
  return (await systemLookup(host, { all: true })).map(({ address }) => address);
}

/** Refuses an address in a URL, which is connected to without being looked up. */
export function isRefusedLiteral(
  { hostname }: URL,
  { isAllowedAddress }: Pick<AddressCheck, 'isAllowedAddress'>,
): boolean {
  const literal = hostname.replace(/^\[|\]$/gu, '');
  return isIP(literal) !== 0 && !isAllowedAddress(literal);
}

/**
 * A host is looked up once, every address is checked, and the connection goes to one of those: a
 * name server cannot answer differently in between (DNS rebinding).
 */
export function checkedLookup({ resolve, isAllowedAddress }: AddressCheck): LookupFunction {
  return (host, options, callback) => {
    const answer = async (): Promise<void> => {
      const addresses = await resolve(host);
      const isRefused = addresses.length === 0 || !addresses.every(isAllowedAddress);
      if (isRefused) throw new RefusedAddress(`${host} is not on the public Internet`);
      const all = addresses.map((address) => ({ address, family: isIP(address) }));
      if (options.all === true) callback(null, all);
      else callback(null, all[0]?.address ?? '', all[0]?.family ?? 4);
    };
    answer().catch((error: unknown) => callback(error as NodeJS.ErrnoException, '', 4));
  };
}
