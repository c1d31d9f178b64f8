/**
 * The gateway as a process of its own, as an operator starts it:
 *   const run = runGateway({ DATA_DIR: dir });            // does not wait
 *   const gateway = await startGateway({ DATA_DIR: dir }); // up: gateway.url, gateway.opsUrl
 *   gateway.process.kill('SIGTERM'); await gateway.exited;
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';

const MAIN = new URL('../../gateway/main.js', import.meta.url).pathname;
/** Free ports, and no waiting for a balancer. */
const PORTS = { PORT: '0', API_PORT: '0', OPS_PORT: '0', DRAIN_DELAY_MS: '0' };
const START_MS_MAX = 90_000;

export interface GatewayRun {
  readonly process: ChildProcess;
  /** What it wrote, on both streams; the last 64 KiB. */
  output(): string;
  /** Resolves with its exit code, or null when a signal ended it. */
  readonly exited: Promise<number | null>;
}

export interface RunningGateway extends GatewayRun {
  readonly url: string;
  readonly opsUrl: string;
}

const OUTPUT_LENGTH_MAX = 65_536;

/** Starts it with these settings and free ports; `preload` is a module for `node --import`,
 * and `main` another copy of the program. */
export function runGateway(
  env: Readonly<Record<string, string>>,
  {
    args = [],
    preload,
    main = MAIN,
  }: { args?: readonly string[]; preload?: URL; main?: string } = {},
): GatewayRun {
  const nodeArgs = preload ? ['--import', preload.href] : [];
  const child = spawn(process.execPath, [...nodeArgs, main, ...args], {
    env: { PATH: process.env.PATH ?? '', ...PORTS, ...env },
    stdio: ['ignore', 'pipe', 'pipe', ...(preload ? (['ipc'] as const) : [])],
  });
  let output = '';
  const collect = (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-OUTPUT_LENGTH_MAX);
  };
  child.stdout?.on('data', collect);
  child.stderr?.on('data', collect);
  const exited = new Promise<number | null>((resolve) => {
    child.once('close', resolve);
  });
  return { process: child, output: () => output, exited };
}

/** Resolves when it has written `text`. @throws with its output when it ends or takes too long. */
export async function written(run: GatewayRun, text: string): Promise<void> {
  const deadline = Date.now() + START_MS_MAX;
  while (!run.output().includes(text)) {
    const { exitCode, signalCode } = run.process;
    if (Date.now() > deadline || exitCode !== null || signalCode !== null) {
      throw new Error(`the gateway did not get as far as "${text}": ${run.output()}`);
    }
    await sleep(20);
  }
}

/** Starts it and waits until it is up. @throws with its output when it does not come up. */
export function startGateway(...how: Parameters<typeof runGateway>): Promise<RunningGateway> {
  return running(runGateway(...how));
}

/** The address that it listens on: the banner has the name for people, who may come by IPv6. */
function listening(url: string): string {
  return url.replace('//localhost:', '//127.0.0.1:');
}

/** Waits until it is up. @throws with its output when it does not come up. */
export async function running(run: GatewayRun): Promise<RunningGateway> {
  await written(run, 'Stop with Ctrl-C');
  const [, url] = /is running at (\S+)/.exec(run.output()) ?? [];
  const [, opsUrl] = /metrics, health +(\S+)\/metrics/.exec(run.output()) ?? [];
  if (url === undefined || opsUrl === undefined) throw new Error(run.output());
  return { ...run, url: listening(url), opsUrl: listening(opsUrl) };
}
