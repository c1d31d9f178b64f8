import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../sdk/typescript/src/cli/run.js';
import { startChannelGateway, type ChannelGateway } from '../support/channel-gateway.js';

let gateway: ChannelGateway;
let directory: string;
beforeEach(async () => {
  gateway = await startChannelGateway();
  directory = mkdtempSync(join(tmpdir(), 'search402-channel-cli-'));
});
afterEach(async () => {
  await gateway.close();
  rmSync(directory, { recursive: true, force: true });
});

async function cli(line: string) {
  const out: string[] = [];
  const err: string[] = [];
  const code = await run(line.split(' ').filter(Boolean), '1.2.3', {
    out: (text) => void out.push(text),
    err: (text) => void err.push(text),
    env: {
      SEARCH402_BASE_URL: gateway.url,
      SEARCH402_STORE: join(directory, 'payments'),
      SEARCH402_PRIVATE_KEY: '42'.repeat(32),
    },
  });
  return { code, out: out.join('\n'), err: err.join('\n') };
}

describe('search402 channel', () => {
  test('opens a channel, from which pay then pays, lists it and closes it', async () => {
    expect(await cli('channel list')).toMatchObject({ code: 0, out: expect.stringMatching(/^no/) });
    const opened = await cli('channel open --deposit 0.05');
    expect(opened).toMatchObject({ code: 0, err: '' });
    expect(opened.out).toMatch(
      /^0x[0-9a-f]{64} open\n {3}0\.04995 of 0\.05 USD left, 999 searches/,
    );
    const paid = await cli('pay kestrel');
    expect(paid.out).toMatch(/paid 0\.00005 USD to 0x1{40}, from a channel$/);
    const listed = JSON.parse((await cli('channel list --json')).out) as unknown;
    expect(listed).toMatchObject([{ status: 'open', chargedUnits: '100', leftUnits: '49900' }]);
    const closed = await cli('channel close');
    expect(closed.out).toMatch(/^0x[0-9a-f]{64}: 0\.0499 USD came back, transaction 0x(cc){32}$/);
    expect((await cli('channel close')).out).toBe('no channel is open');
    expect(gateway.exact).toBe(0);
  });

  test('a single pay opens no channel: it would lock money up for one search', async () => {
    await cli('pay kestrel');
    await cli('pay falcon');
    expect(gateway).toMatchObject({ exact: 2, deposits: [] });
  });

  test('says what is wrong with a command that cannot be understood', async () => {
    for (const line of [
      'channel',
      'channel shut',
      'channel list all',
      'channel open --deposit x',
    ]) {
      expect((await cli(line)).code).toBe(2);
    }
    const dear = await cli('channel open --max-deposit 0.01');
    expect(dear).toMatchObject({ code: 1, err: expect.stringContaining('no channel') });
    expect(gateway.presented).toEqual([]);
  });
});
