import { createDecipheriv, pbkdf2, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { bytesToHex, concatBytes, hexToBytes, keccak256 } from 'viem';
import { z } from 'zod';
import type { Hex } from '../../ground/domain/units.js';

/** Memory that a key derivation may use, in bytes: what scrypt with N = 2^18, r = 8 needs. */
const MEMORY_MAX = 320 * 1024 * 1024;

const hexBytes = z.string().regex(/^([0-9a-fA-F]{2})+$/);

const kdfs = {
  scrypt: z.object({
    kdf: z.literal('scrypt'),
    kdfparams: z.object({
      dklen: z.literal(32),
      n: z
        .int()
        .min(2)
        .max(2 ** 20),
      r: z.int().min(1).max(32),
      p: z.int().min(1).max(32),
      salt: hexBytes,
    }),
  }),
  pbkdf2: z.object({
    kdf: z.literal('pbkdf2'),
    kdfparams: z.object({
      dklen: z.literal(32),
      c: z.int().min(1).max(10_000_000),
      prf: z.literal('hmac-sha256'),
      salt: hexBytes,
    }),
  }),
};

/** Web3 Secret Storage, version 3 (ethereum.org, "Web3 secret storage definition"). */
const keystoreSchema = z.object({
  version: z.literal(3),
  crypto: z
    .object({
      cipher: z.literal('aes-128-ctr'),
      cipherparams: z.object({ iv: hexBytes.length(32) }),
      ciphertext: hexBytes.length(64),
      mac: hexBytes.length(64),
    })
    .and(z.discriminatedUnion('kdf', [kdfs.scrypt, kdfs.pbkdf2])),
});

type Kdf = z.infer<typeof kdfs.scrypt> | z.infer<typeof kdfs.pbkdf2>;

const scryptAsync = promisify<Buffer, Buffer, number, object, Buffer>(scrypt);
const pbkdf2Async = promisify(pbkdf2);

async function deriveKey(derivation: Kdf, passphrase: Buffer): Promise<Buffer> {
  const salt = Buffer.from(derivation.kdfparams.salt, 'hex');
  if (derivation.kdf === 'pbkdf2') {
    return pbkdf2Async(passphrase, salt, derivation.kdfparams.c, 32, 'sha256');
  }
  const { n: N, r, p } = derivation.kdfparams;
  return scryptAsync(passphrase, salt, 32, { N, r, p, maxmem: MEMORY_MAX });
}

/**
 * Opens an encrypted key file as wallets and geth write it.
 *
 * @throws when the text is no version 3 key file, or the passphrase is wrong. No message ever
 *   holds key material or the passphrase.
 */
export async function openKeystore(text: string, passphrase: string): Promise<Hex> {
  const { crypto } = parseKeystore(text);
  const derived = await deriveKey(crypto, Buffer.from(passphrase, 'utf8'));
  const ciphertext = Buffer.from(crypto.ciphertext, 'hex');
  const mac = hexToBytes(keccak256(concatBytes([derived.subarray(16, 32), ciphertext])));
  if (!timingSafeEqual(mac, Buffer.from(crypto.mac, 'hex'))) {
    throw new Error('the passphrase does not open this key file');
  }
  const iv = Buffer.from(crypto.cipherparams.iv, 'hex');
  const decipher = createDecipheriv('aes-128-ctr', derived.subarray(0, 16), iv);
  return bytesToHex(Buffer.concat([decipher.update(ciphertext), decipher.final()]));
}

function parseKeystore(text: string): z.infer<typeof keystoreSchema> {
  try {
    return keystoreSchema.parse(JSON.parse(text));
  } catch {
    throw new Error('this is not a key file (Web3 Secret Storage, version 3)');
  }
}
