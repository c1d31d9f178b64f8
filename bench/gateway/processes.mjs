// Starting what is measured as processes of their own, so that the load generator's work is not in
// the figures.
import { fork, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const file = (path) => fileURLToPath(new URL(path, import.meta.url));
const running = new Set();

/** Forks a module that sends `{ port }` or `{ url }` once it listens. */
export function startModule(path, { args = [], env = {} } = {}) {
  const child = fork(file(path), args, {
    env: { PATH: process.env.PATH, LOG_LEVEL: 'warn', ...env },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  running.add(child);
  return new Promise((resolve, reject) => {
    child.once('message', ({ port, url }) =>
      resolve({
        url: url ?? `http://127.0.0.1:${port}`,
        child,
        cpuMs: () => cpuMs(child.pid),
        stop: () => stop(child),
      }),
    );
    child.once('exit', (code) => reject(new Error(`${path} ended with ${code}`)));
  });
}

/** Starts the gateway, of this checkout unless said otherwise, and waits for its banner. */
export function startGateway(env, main = file('../../dist/gateway/main.js')) {
  const child = spawn(process.execPath, [main], {
    env: { PATH: process.env.PATH, LOG_LEVEL: 'warn', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  running.add(child);
  return new Promise((resolve, reject) => {
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
      const [, url] = /is running at (\S+)/.exec(output) ?? [];
      const [, opsUrl] = /metrics, health +(\S+)\/metrics/.exec(output) ?? [];
      if (!output.includes('Stop with') || !url) return;
      // The banner has the name for people; it listens on IPv4 alone.
      const [own, ops] = [url, opsUrl].map((one) => one.replace('//localhost:', '//127.0.0.1:'));
      resolve({ url: own, opsUrl: ops, cpuMs: () => cpuMs(child.pid), stop: () => stop(child) });
    });
    child.once('exit', (code) => reject(new Error(`the gateway ended with ${code}: ${output}`)));
  });
}

/** Milliseconds of processor time that a process has used (proc(5), at 100 ticks a second). */
function cpuMs(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

function stop(child) {
  running.delete(child);
  child.kill('SIGTERM');
  return new Promise((resolve) => child.once('exit', resolve));
}

process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});
