import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, statSync, truncateSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { StartError } from '../ground/domain/start-error.js';

/** A running anvil process. */
export interface AnvilProcess {
  readonly pid: number;
  /** `http://127.0.0.1:PORT` */
  readonly rpcUrl: string;
  /** Resolves when the process has ended, for whatever reason. */
  readonly ended: Promise<void>;
  /** Ends it at once and waits until it is gone. Nothing is saved: save first. */
  kill(): Promise<void>;
}

export interface AnvilOptions {
  /** TCP port on 127.0.0.1; 0 lets the system choose a free one. */
  readonly port: number;
  /** anvil's own output goes here; started afresh, at most LOG_BYTES_MAX. */
  readonly logFile: string;
  /** Further command line arguments. */
  readonly args: readonly string[];
}

const START_DEADLINE_MS = 20_000;
const LOG_BYTES_MAX = 16 * 1024 * 1024;

/**
 * The path of anvil's own binary. It is started directly, not through the package's launcher,
 * because a signal sent to the launcher does not reach the binary.
 * Throws one readable sentence where the package has no binary for this platform.
 */
export function anvilBinary(platform = process.platform, processor = process.arch): string {
  const processorName = processor === 'x64' ? 'amd64' : processor;
  const name = `@foundry-rs/anvil-${platform}-${processorName}`;
  try {
    const folder = dirname(createRequire(import.meta.url).resolve(`${name}/package.json`));
    return join(folder, 'bin', platform === 'win32' ? 'anvil.exe' : 'anvil');
  } catch {
    throw new StartError(
      `The local development chain needs anvil, and ${name} is not installed. Run npm ci again; ` +
        'if it is not offered for this platform, set RPC_URLS, PAY_TO and a relayer key instead.',
    );
  }
}

/** Starts anvil and waits until it listens, at most 20 s. Throws with the end of its log. */
export async function startAnvil(options: AnvilOptions): Promise<AnvilProcess> {
  mkdirSync(dirname(options.logFile), { recursive: true });
  // A file and not a pipe: anvil may outlive the process that started it. Append, so that the
  // file can be cut while anvil writes.
  const output = openSync(options.logFile, 'a');
  truncateSync(options.logFile);
  const child = spawn(
    anvilBinary(),
    ['--host', '127.0.0.1', '--port', String(options.port), '--no-cors', ...options.args],
    // A group of its own: Ctrl-C in a terminal must not end it before its state is saved.
    { stdio: ['ignore', output, output], detached: true },
  );
  closeSync(output);
  const killOnExit = () => child.kill('SIGKILL');
  process.once('exit', killOnExit);
  let exit: string | undefined;
  const ended = new Promise<void>((resolve) => {
    const finish = (reason: string) => {
      exit ??= reason;
      process.off('exit', killOnExit);
      resolve();
    };
    child.once('error', (error) => finish(error.message));
    child.once('exit', (code, signal) => finish(`exit ${String(code ?? signal)}`));
  });
  const kill = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  const deadline = performance.now() + START_DEADLINE_MS;
  for (;;) {
    const log = readFileSync(options.logFile, 'utf8');
    const [, address] = /^Listening on ([0-9.:]+)$/m.exec(log) ?? [];
    if (address !== undefined && child.pid !== undefined) {
      return { pid: child.pid, rpcUrl: `http://${address}`, ended, kill };
    }
    if (exit !== undefined || performance.now() > deadline) {
      await kill();
      throw new StartError(
        `The local development chain did not start (${exit ?? `not within ${START_DEADLINE_MS / 1000} s`}); ` +
          `its log says: ${log.slice(-500).replace(/\s+/g, ' ').trim() || 'nothing'}`,
      );
    }
    await sleep(10);
  }
}

/** Empties a log that has grown past its limit; anvil goes on writing to it. */
export function limitLog(logFile: string): void {
  if (statSync(logFile).size > LOG_BYTES_MAX) truncateSync(logFile);
}
