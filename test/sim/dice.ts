import { createHash } from 'node:crypto';
import type { Random } from '../../gateway/ground/domain/ports.js';

/**
 * Random numbers that a seed replays: xoshiro128** (Blackman and Vigna, "Scrambled linear
 * pseudorandom number generators", 2021), seeded through SHA-256.
 */
export class Dice {
  readonly #state: Uint32Array;

  constructor(private readonly name: string) {
    const digest = createHash('sha256').update(name).digest();
    this.#state = Uint32Array.from({ length: 4 }, (_, at) => digest.readUInt32LE(at * 4));
  }

  /** Dice of their own for one part of the world: what one part draws moves no other's numbers. */
  fork(part: string): Dice {
    return new Dice(`${this.name}/${part}`);
  }

  /** An integer from 0 to 2^32 - 1. */
  next(): number {
    const s = this.#state;
    const [a = 0, b = 0, c = 0, d = 0] = s;
    const result = Math.imul(rotated(Math.imul(b, 5), 7), 9) >>> 0;
    const third = c ^ a;
    const fourth = d ^ b;
    s[1] = b ^ third;
    s[0] = a ^ fourth;
    s[2] = third ^ (b << 9);
    s[3] = rotated(fourth, 11);
    return result;
  }

  /** A number from 0 up to but not including 1. */
  unit(): number {
    return this.next() / 2 ** 32;
  }

  /** An integer between the two, both included. */
  between(min: number, max: number): number {
    return min + Math.floor(this.unit() * (max - min + 1));
  }

  /** True with this probability, from 0 to 1. */
  chance(probability: number): boolean {
    return this.unit() < probability;
  }

  pick<T>(list: readonly T[]): T {
    const picked = list[this.between(0, list.length - 1)];
    if (picked === undefined) throw new RangeError('nothing to pick from');
    return picked;
  }

  /** The port behind which the gateway draws. */
  random(): Random {
    return {
      bytes: (length) => Uint8Array.from({ length }, () => this.next() & 0xff),
      uuid: () => {
        const digits = Array.from({ length: 4 }, () => this.next().toString(16).padStart(8, '0'));
        const hex = digits.join('');
        return [
          hex.slice(0, 8),
          hex.slice(8, 12),
          `4${hex.slice(13, 16)}`,
          `8${hex.slice(17, 20)}`,
          hex.slice(20),
        ].join('-');
      },
    };
  }
}

function rotated(value: number, by: number): number {
  return (value << by) | (value >>> (32 - by));
}
