/** What happens to the processes of a start, and to those of a start that was there before. */
import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { DevFacts } from '../../gateway/dev/facts.js';
import { address } from '../../gateway/ground/domain/units.js';
import { payerOf } from '../support/chain.js';
import { runGateway, startGateway } from '../support/gateway-process.js';
import { insist, newAttempt, PAYERS_PUBLIC_URL } from '../support/payer-client.js';
import { until } from '../support/until.js';

const ROOT = new URL('../../..', import.meta.url).pathname;

let dataDir: string;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'search402-processes-'));
});
afterEach(() => rm(dataDir, { recursive: true, force: true }));

const devFacts = async () =>
  JSON.parse(await readFile(join(dataDir, 'dev.json'), 'utf8')) as DevFacts;

describe('a second gateway in the folder of one that runs', () => {
  test('refuses in one sentence, and the first goes on paying', async () => {
    const settings = { DATA_DIR: dataDir, PUBLIC_URL: PAYERS_PUBLIC_URL };
    const first = await startGateway(settings);
    const facts = await devFacts();
    const pay = async () => {
      const payer = payerOf(facts.payerPrivateKey as `0x${string}`);
      const attempt = await newAttempt(payer, address(facts.payTo), { query: 'viem' });
      await insist(first.url, attempt);
      return attempt.delivered?.transaction;
    };
    expect(await pay()).toMatch(/^0x/);

    const second = runGateway(settings);
    expect(await second.exited).toBe(1);
    expect(second.output()).toBe(
      `search402 did not start. Another gateway runs in the data folder ${dataDir}: ` +
        'stop it first, or set DATA_DIR to another folder.\n',
    );

    expect(await pay()).toMatch(/^0x/);
    expect((await fetch(`${first.opsUrl}/readyz`)).status).toBe(200);
    expect(await devFacts()).toEqual(facts);
    first.process.kill('SIGTERM');
    expect(await first.exited).toBe(0);
  });

  test('may start once the first was killed, and takes its chain over', async () => {
    const first = await startGateway({ DATA_DIR: dataDir });
    const { rpcUrl } = await devFacts();
    first.process.kill('SIGKILL');
    await first.exited;
    const second = await startGateway({ DATA_DIR: dataDir });
    expect((await devFacts()).rpcUrl).toBe(rpcUrl);
    second.process.kill('SIGTERM');
    expect(await second.exited).toBe(0);
  });
});

/** Below Linux's /proc only. */
const isLinux = process.platform === 'linux';

(isLinux ? describe : describe.skip)('npm start', () => {
  const start = async () => {
    const npm = spawn('npm', ['start', '--silent'], {
      cwd: ROOT,
      env: { ...process.env, DATA_DIR: dataDir, PORT: '0', API_PORT: '0', OPS_PORT: '0' },
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
    });
    let output = '';
    npm.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    await until(() => output.includes('Stop with Ctrl-C'), 90_000);
    const tree = treeOf(npm);
    const names = tree.map(commandOf).join('\n');
    for (const program of ['gateway/main.js', 'search-core/main.js', 'anvil']) {
      expect(names).toContain(program);
    }
    return { npm, tree };
  };

  test('ends with all that it started when npm gets SIGTERM', async () => {
    const { npm, tree } = await start();
    npm.kill('SIGTERM');
    await until(() => tree.every((pid) => commandOf(pid) === ''));
  });

  test('drains at one Ctrl-C, which reaches every process of the terminal', async () => {
    const { npm, tree } = await start();
    const ended = new Promise<number | null>((resolve) => npm.once('close', resolve));
    process.kill(-(npm.pid ?? 0), 'SIGINT');
    expect(await ended).toBe(0);
    await until(() => tree.every((pid) => commandOf(pid) === ''));
  });
});

/** The process and everything below it. */
function treeOf({ pid = 0 }: ChildProcess): number[] {
  const parents = readdirSync('/proc').flatMap((name) => {
    const id = Number(name);
    return id > 0 ? [[id, parentOf(id)] as const] : [];
  });
  const below = (id: number): number[] => [
    id,
    ...parents.filter(([, parent]) => parent === id).flatMap(([child]) => below(child)),
  ];
  return below(pid);
}

function parentOf(pid: number): number {
  return Number(/^PPid:\t(\d+)$/m.exec(readOr(`/proc/${pid}/status`))?.[1] ?? -1);
}

/** Empty once the process has ended. */
const commandOf = (pid: number) => readOr(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim();

function readOr(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
