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

const text = (value: string) => new TextEncoder().encode(value);

/** `hashStruct` of EIP-712. */
function hashStruct(
  name: string,
  fields: readonly Field[],
  values: Readonly<Record<string, unknown>>,
): Uint8Array {
  const members = fields.map((field) => `${field.type} ${field.name}`).join(',');
  const words = fields.map((field) => {
    const value = values[field.name];
    if (field.type === 'string') return keccak256(text(String(value)));
    if (field.type.startsWith('uint')) return word(BigInt(value as bigint | number));
    return word(value as Hex);
  });
  return keccak256(concat(keccak256(text(`${name}(${members})`)), ...words));
}

/** The 32 bytes that EIP-712 says are signed. */
export function digestOf({ domain, types, primaryType, message }: FlatTypedData): Uint8Array {
  const domainFields = DOMAIN_FIELDS.filter(({ name }) => name in domain);
  return keccak256(
    concat(
      Uint8Array.of(0x19, 0x01),
      hashStruct('EIP712Domain', domainFields, domain),
      hashStruct(primaryType, types[primaryType] ?? [], message),
    ),
  );
}
