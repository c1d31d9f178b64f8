import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../sdk/typescript/src/cli/run.js';
import { GOOD_KEY } from '../support/sdk-gateway.js';
import { startSdkWorld, type SdkWorld } from '../support/sdk.js';

let world: SdkWorld;
let directory: string;
beforeEach(async () => {
  world = await startSdkWorld();
  directory = mkdtempSync(join(tmpdir(), 'search402-cli-'));
});
afterEach(async () => {
  await world.close();
  rmSync(directory, { recursive: true, force: true });
});

const PRIVATE_KEY = '42'.repeat(32);

async function cli(line: string, env: Record<string, string> = {}) {
  const out: string[] = [];
  const err: string[] = [];
  const code = await run(line.split(' ').filter(Boolean), '1.2.3', {
    out: (text) => void out.push(text),
    err: (text) => void err.push(text),
    env: {
      SEARCH402_BASE_URL: world.proxy.url,
      SEARCH402_STORE: join(directory, 'payments.jsonl'),
      ...env,
    },
  });
  return { code, out: out.join('\n'), err: err.join('\n') };
}

describe('the command line', () => {
  test('searches with a key from the environment or a file', async () => {
    const key = { SEARCH402_API_KEY: GOOD_KEY };
    const human = await cli('search kestrel cliffs --max-results 2', key);
    expect(human).toMatchObject({ code: 0, err: '' });
    expect(human.out).toContain('1. kestrel cliffs 1\n   https://example.com/shared');
    expect(human.out).toMatch(/2 results in 0\.001 s, request [0-9a-f-]{36}$/);

    const file = join(directory, 'key');
    writeFileSync(file, `${GOOD_KEY}\n`);
    const { out } = await cli(`search kestrel --json --key-file ${file}`);
    expect(JSON.parse(out)).toMatchObject({ result: { totalResults: 3 } });
  });

  test('pays, and says what it paid', async () => {
    const wallet = { SEARCH402_PRIVATE_KEY: PRIVATE_KEY };
    const human = await cli('pay kestrel', wallet);
    expect(human.code).toBe(0);
    expect(human.out).toMatch(/paid 0\.00005 USD to 0x1{40}, transaction 0x[0-9a-f]{64}$/);
    const { out } = await cli('pay falcon --json', wallet);
    expect(JSON.parse(out)).toMatchObject({ payment: { status: 'paid', amountUnits: '50' } });
    expect(out).not.toContain('header');
  });

  test('sends the same payment when it is run again after a loss', async () => {
    const wallet = { SEARCH402_PRIVATE_KEY: PRIVATE_KEY };
    world.proxy.faults.push({ kind: 'pass' }, { kind: 'drop-after' });
    const lost = await cli('pay kestrel --max-retries 0', wallet);
    expect(lost.code).toBe(1);
    expect(lost.err).toContain('Run the same command again. It resends the same payment.');
    expect((await cli('pay kestrel --max-retries 0', wallet)).code).toBe(0);
    expect(world.gateway.transfers).toHaveLength(1);
  });

  test('obeys its caps', async () => {
    const wallet = { SEARCH402_PRIVATE_KEY: PRIVATE_KEY };
    const { code, err } = await cli('pay kestrel --max-per-request 0.00004 --json', wallet);
    expect(code).toBe(1);
    expect(JSON.parse(err)).toMatchObject({ error: { name: 'CapExceededError' } });
    const other = await cli(`pay kestrel --payee 0x${'22'.repeat(20)}`, wallet);
    expect(other.err).toMatch(/payee 0x1{40} is not on the list/);
    expect(world.gateway.transfers).toHaveLength(0);
  });

  test('quotes', async () => {
    const { out } = await cli('quote');
    expect(out).toContain('0.00005 USD a search (50 atomic USDC)');
    expect(JSON.parse((await cli('quote --json')).out)).toMatchObject({ amountUnits: '50' });
  });

  test('takes options before the command', async () => {
    const key = { SEARCH402_API_KEY: GOOD_KEY, SEARCH402_BASE_URL: 'http://127.0.0.1:9' };
    const options = `--json --base-url ${world.proxy.url} --max-retries=0 --max-results 2`;
    const { code, out } = await cli(`${options} search kestrel`, key);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ result: { totalResults: 2 } });
    expect((await cli('--timeout 5 --help search')).out).toContain('search402 search QUERY');
  });

  test('explains itself', async () => {
    for (const command of ['', 'search', 'pay', 'quote', 'mcp', 'verify', 'doctor']) {
      const { code, out } = await cli(`${command} --help`);
      expect(code).toBe(0);
      expect(out).toMatch(/--json +output for programs/);
    }
    expect(await cli('--version')).toEqual({ code: 0, out: '1.2.3', err: '' });
    expect((await cli('')).code).toBe(2);
  });

  test.each([
    ['find x', 'unknown command "find"'],
    ['search --max-results ten x', '--max-results must be a whole number'],
    ['search --no-such x', "Unknown option '--no-such'"],
    ['search', 'enter some keywords'],
    ['search x', 'no API key'],
    ['pay x', 'no wallet'],
    ['mcp', 'no API key'],
    ['search --key-file /no/such/file x', 'cannot be read'],
  ])('"%s" is refused with what is wrong, and exit code 2', async (line, message) => {
    const { code, err } = await cli(line);
    expect(code).toBe(2);
    expect(err).toContain(message);
  });

  test('shows no escape sequence that a page has put into its title', async () => {
    const key = { SEARCH402_API_KEY: GOOD_KEY };
    const { out } = await cli('search \u001b[31mred', key);
    expect(out).not.toContain('\u001b');
    expect(out).toContain('[31mred');
  });
});
