import { concat, word } from './bytes.js';
import { keccak256 } from './keccak.js';
import type { Hex } from '../hex.js';

interface Field {
  readonly name: string;
  readonly type: string;
}

/** EIP-712 typed data whose members are neither structs nor arrays: all that is signed here. */
export interface FlatTypedData {
  readonly domain: Readonly<Record<string, unknown>>;
  readonly types: Readonly<Record<string, readonly Field[]>>;
  readonly primaryType: string;
  readonly message: Readonly<Record<string, unknown>>;
}

/** The types of a domain's members, in the order of EIP-712. */
const DOMAIN_FIELDS: readonly Field[] = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
];

/** Hashes of texts and domains that come again with every signature; there are a few dozen. */
const known = new Map<string, Uint8Array>();
const KNOWN_MAX = 256;

function remembered(key: string, make: () => Uint8Array): Uint8Array {
  const before = known.get(key);
  if (before) return before;
  if (known.size >= KNOWN_MAX) known.clear();
  const made = make();
  known.set(key, made);
  return made;
}

const hashText = (value: string) =>
  remembered(`text ${value}`, () => keccak256(new TextEncoder().encode(value)));

/** `hashStruct` of EIP-712. */
function hashStruct(
  name: string,
  fields: readonly Field[],
  values: Readonly<Record<string, unknown>>,
): Uint8Array {
  const members = fields.map((field) => `${field.type} ${field.name}`).join(',');
  const words = fields.map((field) => {
    const value = values[field.name];
    if (field.type === 'string') return hashText(String(value));
    if (field.type.startsWith('uint')) return word(BigInt(value as bigint | number));
    return word(value as Hex);
  });
  return keccak256(concat(hashText(`${name}(${members})`), ...words));
}

/** The 32 bytes that EIP-712 says are signed. */
export function digestOf({ domain, types, primaryType, message }: FlatTypedData): Uint8Array {
  const domainFields = DOMAIN_FIELDS.filter(({ name }) => name in domain);
  const key = domainFields.map(({ name }) => `${name} ${String(domain[name])}`).join('\n');
  const separator = remembered(`domain ${key}`, () =>
    hashStruct('EIP712Domain', domainFields, domain),
  );
  return keccak256(
    concat(
      Uint8Array.of(0x19, 0x01),
      separator,
      hashStruct(primaryType, types[primaryType] ?? [], message),
    ),
  );
}
