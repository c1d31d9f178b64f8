/**
 * Keccak-256 as Ethereum uses it: FIPS 202's permutation (3.2 and 3.3) with Keccak's original
 * padding, which OpenSSL does not offer under a dependable name.
 */
const RATE_BYTES = 136;
const MASK = (1n << 64n) - 1n;

const rotate = (lane: bigint, by: bigint) => ((lane << by) | (lane >> (64n - by))) & MASK;

/** Round constants from the linear feedback shift register of FIPS 202, algorithm 5. */
const ROUND_CONSTANTS: readonly bigint[] = (() => {
  let register = 1;
  const nextBit = () => {
    const bit = register & 1;
    register = register & 0x80 ? ((register << 1) ^ 0x71) & 0xff : register << 1;
    return bit;
  };
  return Array.from({ length: 24 }, () => {
    let constant = 0n;
    for (let j = 0n; j <= 6n; j += 1n) {
      if (nextBit() === 1) constant |= 1n << ((1n << j) - 1n);
    }
    return constant;
  });
})();

/** For each step of ρ and π: the lane that is written next, and its rotation. */
const WALK: readonly { readonly at: number; readonly by: bigint }[] = (() => {
  const steps: { at: number; by: bigint }[] = [];
  let [x, y] = [1, 0];
  for (let t = 0; t < 24; t += 1) {
    [x, y] = [y, (2 * x + 3 * y) % 5];
    steps.push({ at: x + 5 * y, by: BigInt((((t + 1) * (t + 2)) / 2) % 64) });
  }
  return steps;
})();

/** One of the 25 lanes; the index is always in range. */
const lane = (state: BigUint64Array, index: number): bigint => state[index] ?? 0n;

function permute(state: BigUint64Array): void {
  for (const constant of ROUND_CONSTANTS) {
    const parity = Array.from({ length: 5 }, (_, x) =>
      [0, 5, 10, 15, 20].reduce((sum, row) => sum ^ lane(state, x + row), 0n),
    );
    for (let i = 0; i < 25; i += 1) {
      const [left = 0n, right = 0n] = [parity[(i + 4) % 5], parity[(i + 1) % 5]];
      state[i] = lane(state, i) ^ left ^ rotate(right, 1n);
    }
    let carried = lane(state, 1);
    for (const { at, by } of WALK) {
      const next = lane(state, at);
      state[at] = rotate(carried, by);
      carried = next;
    }
    for (let row = 0; row < 25; row += 5) {
      const old = state.slice(row, row + 5);
      for (let x = 0; x < 5; x += 1) {
        state[row + x] = lane(old, x) ^ (~lane(old, (x + 1) % 5) & MASK & lane(old, (x + 2) % 5));
      }
    }
    state[0] = lane(state, 0) ^ constant;
  }
}

/** The 32-byte Keccak-256 digest. */
export function keccak256(message: Uint8Array): Uint8Array {
  const padded = new Uint8Array((Math.floor(message.length / RATE_BYTES) + 1) * RATE_BYTES);
  padded.set(message);
  padded[message.length] = 0x01;
  padded[padded.length - 1] = (padded[padded.length - 1] ?? 0) | 0x80;
  const state = new BigUint64Array(25);
  const view = new DataView(padded.buffer);
  for (let block = 0; block < padded.length; block += RATE_BYTES) {
    for (let i = 0; i < RATE_BYTES / 8; i += 1) {
      state[i] = lane(state, i) ^ view.getBigUint64(block + i * 8, true);
    }
    permute(state);
  }
  const digest = new DataView(new ArrayBuffer(32));
  for (let i = 0; i < 4; i += 1) digest.setBigUint64(i * 8, lane(state, i), true);
  return new Uint8Array(digest.buffer);
}
