import { readFile } from 'node:fs/promises';
import { BASE_CHAIN_ID } from '../../contracts-abi/addresses.js';
import { ConfigError } from '../ground/setting-kinds.js';
import type { RelayerConfig } from '../money/mover-config.js';
import type { Hex } from '../ground/domain/units.js';
import {
  createLocalAuthorizer,
  createRemoteAuthorizer,
  type Authorizer,
} from '../money/claims/authorizer.js';
import { openKeystore } from '../money/settlement/keystore.js';
import { createRemoteSigner } from '../money/settlement/remote-signer.js';
import { createLocalSigner, type Signer } from '../money/settlement/signer.js';

/** Milliseconds for one signature of a signer behind HTTP. */
const SIGNATURE_MS = 5000;

/** A relayer's key: it signs transactions, and claims and refunds of the channels that name it. */
export interface RelayerKey extends Signer {
  readonly authorizer: Authorizer;
}

/** A relayer whose key is in this process. */
export function localRelayer(key: Hex): RelayerKey {
  return { ...createLocalSigner(key), authorizer: createLocalAuthorizer(key, BASE_CHAIN_ID) };
}

/**
 * The relayers of the settings, one lane each.
 * @throws ConfigError when a file cannot be read or does not hold what it should.
 */
export async function openRelayers(relayer: RelayerConfig): Promise<readonly RelayerKey[]> {
  if ('key' in relayer) return [localRelayer(relayer.key as Hex)];
  if ('url' in relayer) {
    const { url, addresses } = relayer;
    return addresses.map((address) => {
      const settings = { url, address, timeoutMs: SIGNATURE_MS };
      const authorizer = createRemoteAuthorizer(settings, BASE_CHAIN_ID);
      return { ...createRemoteSigner(settings), authorizer };
    });
  }
  const text = await read('RELAYER_PRIVATE_KEY_FILE', relayer.file);
  const keys = text.trimStart().startsWith('{')
    ? [await decrypted(text, relayer.passphraseFile)]
    : text.trim().split(/\s+/);
  if (!keys.every((key) => /^0x[0-9a-fA-F]{64}$/.test(key))) {
    throw new ConfigError([
      'RELAYER_PRIVATE_KEY_FILE: the file must hold 0x and 64 hex digits, one line for each ' +
        'relayer, or an encrypted key file.',
    ]);
  }
  return [...new Set(keys)].map((key) => localRelayer(key as Hex));
}

async function decrypted(text: string, passphraseFile: string | undefined): Promise<string> {
  if (passphraseFile === undefined) {
    throw new ConfigError(['RELAYER_PRIVATE_KEY_FILE is encrypted: set RELAYER_PASSPHRASE_FILE.']);
  }
  // A line end is no part of the passphrase, though editors leave one.
  const passphrase = (await read('RELAYER_PASSPHRASE_FILE', passphraseFile)).replace(/\r?\n$/, '');
  return openKeystore(text, passphrase).catch((error: unknown) => {
    const why = error instanceof Error ? error.message : 'it cannot be opened';
    throw new ConfigError([`RELAYER_PRIVATE_KEY_FILE: ${why}.`]);
  });
}

function read(setting: string, file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: unknown) => {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    throw new ConfigError([`${setting}: the file cannot be read (${code}).`]);
  });
}
