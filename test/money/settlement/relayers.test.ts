import { afterAll, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../../gateway/wiring/config.js';
import { openRelayers } from '../../../gateway/wiring/relayers.js';

const folder = mkdtempSync(join(tmpdir(), 'relayers-'));
afterAll(() => rmSync(folder, { recursive: true }));

const BASE = { RPC_URLS: 'http://127.0.0.1:1', PAY_TO: `0x${'22'.repeat(20)}` };
const KEYS = [`0x${'31'.repeat(32)}`, `0x${'32'.repeat(32)}`];

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

/** The relayers that these settings open; a refused setting rejects. */
async function relayers(environment: Record<string, string>) {
  const { chain } = readConfig({ ...BASE, ...environment }, []);
  if (chain.kind !== 'mainnet') throw new Error('no chain');
  if ('facilitatorUrl' in chain.mover) throw new Error('no relayer');
  return openRelayers(chain.mover);
}

test('a file with a key on each line opens a lane for each', async () => {
  const path = file('keys', `${KEYS.join('\n')}\n`);
  expect(await relayers({ RELAYER_PRIVATE_KEY_FILE: path })).toHaveLength(2);
});

test('a signer behind HTTP opens a lane for each of its accounts', async () => {
  const [one, two] = [`0x${'aa'.repeat(20)}`, `0x${'bb'.repeat(20)}`];
  const signers = await relayers({
    RELAYER_SIGNER_URL: 'http://127.0.0.1:1',
    RELAYER_ADDRESSES: `${one},${two}`,
  });
  expect(signers.map(({ address }) => address)).toEqual([one, two]);
});

test.each([
  [{ RELAYER_PRIVATE_KEY: KEYS[0] ?? '', RELAYER_SIGNER_URL: 'http://127.0.0.1:1' }, 'not several'],
  [{ RELAYER_SIGNER_URL: 'http://127.0.0.1:1' }, 'RELAYER_ADDRESSES is missing'],
  [{ RELAYER_PRIVATE_KEY_FILE: join(folder, 'none') }, 'the file cannot be read'],
  [{ RELAYER_PRIVATE_KEY_FILE: file('short', '0x12') }, 'must hold 0x and 64 hex digits'],
  [{ RELAYER_PRIVATE_KEY_FILE: file('store', '{}') }, 'set RELAYER_PASSPHRASE_FILE'],
  [
    {
      RELAYER_PRIVATE_KEY_FILE: file('store2', '{}'),
      RELAYER_PASSPHRASE_FILE: file('pass', 'secret\n'),
    },
    'this is not a key file',
  ],
])('settings that open none are refused by name: %j', async (environment, message) => {
  await expect(relayers(environment)).rejects.toThrow(message);
});
