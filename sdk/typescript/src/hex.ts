/** Hex digits after `0x`, as Ethereum writes bytes. */
export type Hex = `0x${string}`;
