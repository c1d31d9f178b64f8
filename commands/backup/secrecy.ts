import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hkdfSync,
  randomBytes,
  scryptSync,
  timingSafeEqual,
} from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Transform, type TransformCallback } from 'node:stream';
import { z } from 'zod';
import { BackupRefused } from './refused.js';

/** What the operator gives to lock a backup, or to open it. */
export type KeySource =
  | { readonly kind: 'passphrase'; readonly text: string }
  | { readonly kind: 'key-file'; readonly key: Uint8Array };

/** How the key of a backup is made of what the operator gives. */
export const lockSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('passphrase'),
    salt: z.string().regex(/^[0-9a-f]{32}$/),
    // scrypt (RFC 7914): 128 MiB and about half a second at 17.
    costLog2: z.int().min(10).max(20),
  }),
  z.strictObject({
    kind: z.literal('key-file'),
    salt: z.string().regex(/^[0-9a-f]{32}$/),
  }),
]);

export type Lock = z.infer<typeof lockSchema>;

/** The keys of one backup: one for each file, and one for the list of them. */
export interface BackupKeys {
  readonly lock: Lock;
  /** Encrypts a file: AES-256-GCM (NIST SP 800-38D) under a key that is this file's alone. */
  encrypt(file: string): Transform;
  /** Decrypts it; ends with an error when it was changed. */
  decrypt(file: string): Transform;
  /** A seal over a text that only who has the key can make. */
  seal(text: string): string;
}

const COST_LOG2 = 17;
const KEY_BYTES = 32;
const TAG_BYTES = 16;
/** Each key encrypts one file once, so one nonce is enough (RFC 5869 for the keys). */
const NONCE = Buffer.alloc(12);
const PASSPHRASE_LENGTH_MIN = 12;

/** @throws BackupRefused when the file holds nothing that can be used. */
export function readKeySource(given: {
  readonly passphraseFile?: string | undefined;
  readonly keyFile?: string | undefined;
}): KeySource | undefined {
  const { passphraseFile, keyFile } = given;
  if (keyFile !== undefined) {
    const text = textOf(keyFile);
    if (/^[0-9a-fA-F]{64}$/.test(text)) return { kind: 'key-file', key: Buffer.from(text, 'hex') };
    const cure = 'make one with: openssl rand -hex 32';
    throw new BackupRefused('bad-key-file', `${keyFile} must hold 64 hex digits; ${cure}.`);
  }
  if (passphraseFile === undefined) return undefined;
  const text = textOf(passphraseFile);
  if (text.length >= PASSPHRASE_LENGTH_MIN) return { kind: 'passphrase', text };
  throw new BackupRefused(
    'bad-key-file',
    `the passphrase in ${passphraseFile} must have ${PASSPHRASE_LENGTH_MIN} characters or more.`,
  );
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new BackupRefused('bad-key-file', `${file} cannot be read: ${reason}.`);
  }
}

/** New keys for a new backup. */
export function newKeys(source: KeySource): BackupKeys {
  const salt = randomBytes(16).toString('hex');
  const lock: Lock =
    source.kind === 'key-file'
      ? { kind: 'key-file', salt }
      : { kind: 'passphrase', salt, costLog2: COST_LOG2 };
  return keysOf(source, lock);
}

/** The keys of a backup that is there. */
export function keysOf(source: KeySource, lock: Lock): BackupKeys {
  const main = mainKey(source, lock);
  const salt = Buffer.from(lock.salt, 'hex');
  const keyFor = (what: string) =>
    Buffer.from(hkdfSync('sha256', main, salt, `search402 backup 1 ${what}`, KEY_BYTES));
  return {
    lock,
    encrypt: (file) => encrypting(keyFor(`file ${file}`)),
    decrypt: (file) => decrypting(keyFor(`file ${file}`)),
    seal: (text) => createHmac('sha256', keyFor('list')).update(text).digest('hex'),
  };
}

function mainKey(source: KeySource, lock: Lock): Uint8Array {
  if (source.kind !== lock.kind) {
    const option = lock.kind === 'key-file' ? '--key-file' : '--passphrase-file';
    throw new BackupRefused('wrong-key', `this backup is opened with ${option}.`);
  }
  if (source.kind === 'key-file' || lock.kind === 'key-file') {
    return source.kind === 'key-file' ? source.key : new Uint8Array();
  }
  const N = 2 ** lock.costLog2;
  const cost = { N, r: 8, p: 1, maxmem: 256 * N * 8 };
  return scryptSync(source.text.normalize('NFKC'), Buffer.from(lock.salt, 'hex'), KEY_BYTES, cost);
}

export function isSameSeal(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function encrypting(key: Uint8Array): Transform {
  const cipher = createCipheriv('aes-256-gcm', key, NONCE);
  return new Transform({
    transform(chunk: Buffer, _, done) {
      done(null, cipher.update(chunk));
    },
    flush(done) {
      this.push(cipher.final());
      this.push(cipher.getAuthTag());
      done();
    },
  });
}

/** The tag is the last 16 bytes: so many are always held back. */
function decrypting(key: Uint8Array): Transform {
  const decipher = createDecipheriv('aes-256-gcm', key, NONCE);
  let held = Buffer.alloc(0);
  return new Transform({
    transform(chunk: Buffer, _, done) {
      const all = Buffer.concat([held, chunk]);
      const ready = Math.max(0, all.length - TAG_BYTES);
      held = all.subarray(ready);
      done(null, decipher.update(all.subarray(0, ready)));
    },
    flush(done: TransformCallback) {
      try {
        decipher.setAuthTag(held);
        done(null, decipher.final());
      } catch (error) {
        done(error instanceof Error ? error : new Error(String(error)));
      }
    },
  });
}
