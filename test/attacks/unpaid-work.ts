import { mkdtempSync, rmSync } from 'node:fs';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startGateway, type RunningGateway } from '../support/gateway-process.js';
import { flood, type Challenge, type FloodKind, type FloodReport } from './flood.js';
import { ask, metric, quantile } from './machine.js';
import type { AttackRow } from './row.js';

/** Attackers; each attack comes from one that owes nothing yet. */
let attackers = 1;
const nextAttacker = () => `127.0.0.${(attackers += 1)}`;
/** Look-ups of code that all unknown payers together cost in a second. */
const LOOKUPS_PER_SECOND = 10;
/** Questions to the chain that one address may cause in a second without paying, by default. */
const QUESTIONS_PER_SECOND = 20;
/** Seconds of them that it may use at once. */
const BURST_SECONDS = 5;

/** A gateway under attack, and what it asks of payers. */
interface Target {
  readonly gateway: RunningGateway;
  readonly challenge: Challenge;
}

async function withTarget<Result>(
  env: Readonly<Record<string, string>>,
  work: (target: Target) => Promise<Result>,
): Promise<Result> {
  const dataDir = mkdtempSync(join(tmpdir(), 'search402-attack-'));
  const gateway = await startGateway({ DATA_DIR: dataDir, LOG_LEVEL: 'error', ...env });
  try {
    const { headers } = await ask(`${gateway.url}/search`, { localAddress: '127.0.0.9' });
    const header = Buffer.from(String(headers['payment-required']), 'base64').toString();
    return await work({ gateway, challenge: JSON.parse(header) as Challenge });
  } finally {
    gateway.process.kill('SIGTERM');
    await gateway.exited;
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** Floods from one address, and what they cost us and the others. */
export function unpaidWork(): Promise<readonly AttackRow[]> {
  return withTarget({}, async (quiet) => {
    const target = { ...quiet, callsPerSecond: await callsPerSecond(quiet.gateway) };
    return [
      await chainCalls(target, 'Random signatures of unknown payers', 'forged'),
      await chainCalls(target, 'Wrong signatures of a payer without code', 'known-payer'),
      await chainCalls(target, 'Questions about payments, wrongly signed', 'proofs'),
      await beside(target, 'Payments for a resource of 2,000 slashes', 'slashes'),
      await beside(target, 'Listings of the tool protocol', 'tools'),
      await beside(target, 'Registrations of the sign-in', 'oauth'),
      await beside(target, 'Pages of the console', 'console'),
      await beside(target, 'Pages of the reference', 'docs'),
      await beside(target, 'Keys that nobody has', 'bad-keys'),
    ];
  }).then(async (rows) => [...rows, await withTarget({ TRUSTED_PROXIES: '1' }, manyPrefixes)]);
}

const FLOOD = { perSecond: 1500, seconds: 1 } as const;
const QUIET_SECONDS = 3;
/** What the service may ask by itself beyond its rhythm: a flood that gets through asks a thousand. */
const OWN_CALLS_MAX = 30;

const turnedAway = ({ sent, statuses }: FloodReport) =>
  `${sent} requests, ${statuses[429] ?? 0} turned away`;

const callsOf = ({ opsUrl }: RunningGateway) =>
  metric(opsUrl, 'search402_rpc_calls_total', 'method="eth_call"');

/** How often the service looks at the chain by itself. */
async function callsPerSecond(gateway: RunningGateway): Promise<number> {
  const [from, started] = [await callsOf(gateway), performance.now()];
  await sleep(QUIET_SECONDS * 1000);
  return ((await callsOf(gateway)) - from) / ((performance.now() - started) / 1000);
}

/** What a flood of payments had asked of the chain. */
async function chainCalls(
  { gateway, challenge, callsPerSecond }: Target & { readonly callsPerSecond: number },
  attack: string,
  kind: FloodKind,
): Promise<AttackRow> {
  const [from, cpuFrom] = [await callsOf(gateway), await cpuSeconds(gateway)];
  const started = performance.now();
  const report = await flood({
    ...FLOOD,
    localAddress: nextAttacker(),
    url: gateway.url,
    kind,
    challenge,
  });
  const asked = (await callsOf(gateway)) - from;
  const floodSeconds = (performance.now() - started) / 1000;
  const own = Math.ceil(callsPerSecond * floodSeconds) + OWN_CALLS_MAX;
  return {
    attack,
    tries: report.sent,
    gotThrough: Math.max(0, asked - own - allowedCalls(kind, floodSeconds + 1)),
    costToAttacker: turnedAway(report),
    costToUs: `${asked} RPC calls, ${callsPerSecond.toFixed(1)} a second without; ${await cpuSince(gateway, cpuFrom, report)}`,
  };
}

/** Questions to the chain that a flood from one address may cause. */
function allowedCalls(kind: FloodKind, seconds: number): number {
  if (kind === 'known-payer') return 1;
  if (kind === 'proofs') return Math.ceil(QUESTIONS_PER_SECOND * (BURST_SECONDS + seconds));
  return Math.ceil(LOOKUPS_PER_SECOND * seconds);
}

/** A flood, and whether others are still answered. */
async function beside(
  { gateway, challenge }: Target,
  attack: string,
  kind: FloodKind,
): Promise<AttackRow> {
  const cpuFrom = await cpuSeconds(gateway);
  const [report, others] = await Promise.all([
    flood({ ...FLOOD, localAddress: nextAttacker(), url: gateway.url, kind, challenge }),
    askBeside(gateway.url, FLOOD.seconds),
  ]);
  return {
    attack,
    tries: report.sent,
    gotThrough: others.failed,
    costToAttacker: turnedAway(report),
    costToUs: await cpuSince(gateway, cpuFrom, report),
    note: `${others.times.length + others.failed} others asked, ${others.failed} not answered`,
  };
}

const cpuSeconds = ({ opsUrl }: RunningGateway) => metric(opsUrl, 'process_cpu_seconds_total');

async function cpuSince(gateway: RunningGateway, from: number, { sent }: FloodReport) {
  const ms = ((await cpuSeconds(gateway)) - from) * 1000;
  return `${(ms / sent).toFixed(2)} ms processor for each`;
}

const OTHERS = 20;

/** Others, each with an address of its own, ask five times a second for what is free. */
async function askBeside(
  url: string,
  seconds: number,
): Promise<{ times: number[]; failed: number }> {
  const agents = Array.from({ length: OTHERS }, () => new Agent({ keepAlive: true }));
  const times: number[] = [];
  let failed = 0;
  const until = performance.now() + seconds * 1000;
  await Promise.all(
    agents.map(async (agent, index) => {
      await sleep(index * 10);
      while (performance.now() < until) {
        const client = { localAddress: `127.0.1.${index + 1}`, agent };
        const answer = await ask(`${url}/search`, client).catch(() => undefined);
        if (answer?.status === 402) times.push(answer.ms);
        else failed += 1;
        await sleep(200);
      }
      agent.destroy();
    }),
  );
  return { times, failed };
}

/** 5,000 networks of one site, as a proxy tells of them. */
async function manyPrefixes({ gateway }: Target): Promise<AttackRow> {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const localAddress = nextAttacker();
  const tries = 5000;
  const started = performance.now();
  const statuses = await Promise.all(
    Array.from({ length: tries }, async (_, index) => {
      const headers = { 'x-forwarded-for': `2001:db8:7:${index.toString(16)}::1` };
      const client = { localAddress, agent };
      return ask(`${gateway.url}/search`, client, { headers }).then(
        ({ status }) => status,
        () => 0,
      );
    }),
  );
  agent.destroy();
  const seconds = (performance.now() - started) / 1000;
  const passed = statuses.filter((status) => status === 402).length;
  // Twice what one address may: 100 a second.
  const allowed = Math.ceil(200 * (seconds + 1));
  return {
    attack: 'Requests from 5,000 /64s of one /48',
    tries,
    gotThrough: Math.max(0, passed - allowed),
    costToAttacker: 'one /48',
    costToUs: `${passed} challenges in ${seconds.toFixed(1)} s`,
  };
}

const RATES = [100, 250, 500, 1000, 2000, 4000] as const;
const STEP_SECONDS = 8;

/** How many invalid payments a second one address can make before others' p99 doubles. */
export function unpaidFigures(): Promise<readonly AttackRow[]> {
  return withTarget({}, async ({ gateway, challenge }) => {
    const { url } = gateway;
    await askBeside(url, 3);
    const rows: AttackRow[] = [];
    for (const perSecond of RATES) {
      // Each step has a quiet one of its own before it: other work on the machine comes and goes.
      const quiet = await askBeside(url, STEP_SECONDS);
      const what = { url, kind: 'forged', challenge, localAddress: nextAttacker() } as const;
      const [report, others] = await Promise.all([
        flood({ ...what, perSecond, seconds: STEP_SECONDS }),
        askBeside(url, STEP_SECONDS),
      ]);
      const [before, during] = [quiet, others].map(({ times }) => quantile(times, 0.99));
      rows.push({
        attack: `${perSecond} invalid payments a second`,
        tries: report.sent,
        gotThrough: others.failed,
        costToAttacker: turnedAway(report),
        costToUs: `others’ p50 ${quantile(others.times, 0.5).toFixed(1)} ms, p99 ${during?.toFixed(1)} ms`,
        note: `p50 ${quantile(quiet.times, 0.5).toFixed(1)} ms, p99 ${before?.toFixed(1)} ms just before`,
      });
    }
    return rows;
  });
}
