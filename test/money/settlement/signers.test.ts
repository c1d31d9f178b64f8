import { afterAll, describe, expect, test } from '@jest/globals';
import { createCipheriv, randomBytes, scryptSync } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { bytesToHex, keccak256 } from 'viem';
import { address } from '../../../gateway/ground/domain/units.js';
import { openKeystore } from '../../../gateway/money/settlement/keystore.js';
import { createRemoteSigner } from '../../../gateway/money/settlement/remote-signer.js';
import {
  createLocalSigner,
  type UnsignedTransaction,
} from '../../../gateway/money/settlement/signer.js';

const KEY = `0x${'77'.repeat(32)}` as const;
const local = createLocalSigner(KEY);
const TRANSACTION: UnsignedTransaction = {
  chainId: 8453,
  nonce: 0n,
  to: address(`0x${'12'.repeat(20)}`),
  data: '0xabcdef',
  gasLimit: 100_000n,
  maxFeePerGas: 20n,
  maxPriorityFeePerGas: 1n,
};

// The PBKDF2 test vector of the Web3 Secret Storage definition.
const SECRET = '0x7a28b5ba57c53603b0b07b56bba752f7784bf506fa95edc395f5cf6c7514fe9d';
const PBKDF2 = {
  crypto: {
    cipher: 'aes-128-ctr',
    cipherparams: { iv: '6087dab2f9fdbbfaddc31a909735c1e6' },
    ciphertext: '5318b4d5bcd28de64ee5559e671353e16f075ecae9f99c7a79a38af5f869aa46',
    kdf: 'pbkdf2',
    kdfparams: {
      c: 262144,
      dklen: 32,
      prf: 'hmac-sha256',
      salt: 'ae3cd4e7013836a3df6bd7241b12db061dbe2c6785853cce422d148a624ce0bd',
    },
    mac: '517ead924a9d0dc3124507e3393d175ce3ff7c1e96529c6c555ce9e51205e9b2',
  },
  version: 3,
};

/** Encrypts a key as geth does: scrypt with N = 2^18, r = 8, p = 1. */
function keyFile(secret: `0x${string}`, passphrase: string): string {
  const salt = randomBytes(32);
  const iv = randomBytes(16);
  const [n, r, p] = [2 ** 18, 8, 1];
  const derived = scryptSync(passphrase, salt, 32, { N: n, r, p, maxmem: 2 ** 29 });
  const cipher = createCipheriv('aes-128-ctr', derived.subarray(0, 16), iv);
  const ciphertext = Buffer.concat([
    cipher.update(Buffer.from(secret.slice(2), 'hex')),
    cipher.final(),
  ]);
  const mac = keccak256(Buffer.concat([derived.subarray(16, 32), ciphertext])).slice(2);
  return JSON.stringify({
    version: 3,
    id: 'any',
    crypto: {
      cipher: 'aes-128-ctr',
      cipherparams: { iv: iv.toString('hex') },
      ciphertext: ciphertext.toString('hex'),
      kdf: 'scrypt',
      kdfparams: { dklen: 32, n, r, p, salt: salt.toString('hex') },
      mac,
    },
  });
}

describe('a key file', () => {
  test('opens with its passphrase (PBKDF2, the published vector)', async () => {
    expect(await openKeystore(JSON.stringify(PBKDF2), 'testpassword')).toBe(SECRET);
  });

  test('opens with its passphrase (scrypt, as geth writes it)', async () => {
    expect(await openKeystore(keyFile(SECRET, 'correct horse'), 'correct horse')).toBe(SECRET);
  });

  test('stays shut for any other, and the error tells nothing', async () => {
    const opening = openKeystore(JSON.stringify(PBKDF2), 'hunter2');
    await expect(opening).rejects.toThrow('the passphrase does not open this key file');
  });

  test.each(['', '{}', '{"version":1}', JSON.stringify({ ...PBKDF2, version: 1 })])(
    'that is none is refused: %s',
    async (text) => {
      await expect(openKeystore(text, 'x')).rejects.toThrow('this is not a key file');
    },
  );
});

describe('a signer behind HTTP', () => {
  let answer: (params: UnsignedTransaction) => Promise<unknown> = () => Promise.resolve({});
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      void answer(TRANSACTION).then((body) => response.end(JSON.stringify(body)));
    });
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  const listening = new Promise<string>((resolve) => {
    server.listen(0, '127.0.0.1', () =>
      resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    );
  });
  const remote = async () =>
    createRemoteSigner({ url: await listening, address: local.address, timeoutMs: 500 });

  test('signs what it is asked, in either form of answer', async () => {
    const expected = await local.sign(TRANSACTION);
    const raw = bytesToHex(expected.raw);
    for (const result of [raw, { raw, tx: {} }]) {
      answer = () => Promise.resolve({ result });
      expect(await (await remote()).sign(TRANSACTION)).toEqual(expected);
    }
  });

  test('is not believed when it signs something else, or for somebody else', async () => {
    const signer = await remote();
    for (const change of [{ to: address(`0x${'13'.repeat(20)}`) }, { nonce: 1n }] as const) {
      const { raw } = await local.sign({ ...TRANSACTION, ...change });
      answer = () => Promise.resolve({ result: bytesToHex(raw) });
      await expect(signer.sign(TRANSACTION)).rejects.toThrow('another transaction');
    }
    const stranger = await createLocalSigner(`0x${'78'.repeat(32)}`).sign(TRANSACTION);
    answer = () => Promise.resolve({ result: bytesToHex(stranger.raw) });
    await expect(signer.sign(TRANSACTION)).rejects.toThrow('another account');
  });

  test('that refuses or does not answer in time is an error, not a hang', async () => {
    const signer = await remote();
    answer = () => Promise.resolve({ error: { code: -1, message: 'no' } });
    await expect(signer.sign(TRANSACTION)).rejects.toThrow('did not answer with a signed');
    answer = () => new Promise(() => undefined);
    await expect(signer.sign(TRANSACTION)).rejects.toThrow(/timeout|aborted/i);
  });
});
