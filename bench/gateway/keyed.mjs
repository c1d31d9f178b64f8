// Keyed searches through one gateway and through two, on SQLite and on PostgreSQL: how many there
// are, and what each costs the gateways' processors. All gateways of a row search on one account.
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import autocannon from 'autocannon';
import { startTestChain } from '../../dist/test/support/chain.js';
import { startPostgres } from '../../dist/test/support/postgres.js';
import { root as own } from '../../scripts/steps.mjs';
import { startGateway } from './processes.mjs';

const CONNECTIONS = 32;
const SETUPS = [
  { database: 'SQLite', gateways: 1 },
  { database: 'PostgreSQL', gateways: 1 },
  { database: 'PostgreSQL', gateways: 2 },
];

/** @param beside the folder of another built checkout, to be measured in turn with this one. */
export async function keyedRows({ folder, ports, seconds, rounds, beside, say }) {
  say(`\nkeyed searches, ${CONNECTIONS} connections, ${rounds} rounds of ${seconds} s, medians`);
  const chain = await startTestChain({ blockTimeSeconds: 2 });
  const roots = { now: own, ...(beside && { before: beside }) };
  const runs = [];
  for (let round = 0; round < rounds; round += 1) {
    for (const setup of SETUPS) {
      for (const [state, root] of Object.entries(roots)) {
        const place = join(folder, `keyed-${round}-${runs.length}`);
        const figures = await measure({ ...setup, root, place, ports, seconds, chain });
        runs.push({ ...setup, state, ...figures });
      }
    }
  }
  await chain.stop();
  return SETUPS.flatMap(({ database, gateways }) =>
    Object.keys(roots).map((state) => {
      const mine = runs.filter(
        (run) => run.database === database && run.gateways === gateways && run.state === state,
      );
      const row = {
        ...{ database, gateways, state },
        perSecond: median(mine.map((run) => run.perSecond)),
        cpuMs: median(mine.map((run) => run.cpuMs)),
        writes: median(mine.map((run) => run.writes)),
        p99Ms: median(mine.map((run) => run.p99Ms)),
      };
      say(
        `  ${database.padEnd(10)}  ${gateways} gateway${gateways > 1 ? 's' : ' '}  ${state.padEnd(6)}` +
          `  ${row.perSecond.toFixed(0).padStart(5)} /s  p99 ${row.p99Ms.toFixed(0).padStart(4)} ms` +
          `  processor ${row.cpuMs.toFixed(2)} ms each  ${row.writes.toFixed(2)} writes each`,
      );
      return row;
    }),
  );
}

async function measure({ database, gateways, root, place, ports, seconds, chain }) {
  mkdirSync(place, { recursive: true });
  const server = database === 'PostgreSQL' ? await startPostgres() : undefined;
  const sealing = join(place, 'shared.key');
  writeFileSync(sealing, randomBytes(32).toString('hex'), { mode: 0o600 });
  const env = {
    ...ports,
    ...(server && { DATABASE_URL: server.url }),
    DATA_DIR: join(place, 'data'),
    SEALING_KEY_FILE: sealing,
    RPC_URLS: chain.rpcUrl,
    PAY_TO: chain.payTo,
    RELAYER_PRIVATE_KEY: chain.relayerPrivateKey,
    PUBLIC_URL: 'https://search.example',
    ADDRESS_RATE: '1000000',
  };
  const running = [];
  for (let count = 0; count < gateways; count += 1) {
    running.push(await startGateway(env, join(root, 'dist/gateway/main.js')));
  }
  const key = keyOf(root, env);
  const load = (url, duration) =>
    autocannon({
      url: `${url}/search`,
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({ query: 'sign typed data', maxResults: 5 }),
      connections: CONNECTIONS / gateways,
      duration,
    });
  const all = (duration) => Promise.all(running.map(({ url }) => load(url, duration)));
  await all(1);
  const before = await totals(running);
  const results = await all(seconds);
  const after = await totals(running);
  for (const one of running) await one.stop();
  if (server) await server.stop();
  const answered = sum(results.map((one) => one.statusCodeStats[200]?.count ?? 0));
  const wrong = sum(results.map((one) => one.requests.total)) - answered;
  if (wrong > 0)
    throw new Error(
      `${wrong} others than 200: ${JSON.stringify(results.map((one) => one.statusCodeStats))}`,
    );
  return {
    perSecond: answered / seconds,
    cpuMs: (after.cpuMs - before.cpuMs) / answered,
    writes: (after.writes - before.writes) / answered,
    p99Ms: Math.max(...results.map((one) => one.latency.p99)),
  };
}

/** Processor time and durable writes of some gateways so far. */
async function totals(gateways) {
  const writes = gateways.map(async ({ opsUrl }) => {
    const text = await (await fetch(`${opsUrl}/metrics`)).text();
    return Number(/^search402_store_writes_total (\d+)/m.exec(text)?.[1]);
  });
  return {
    cpuMs: sum(gateways.map((one) => one.cpuMs())),
    writes: sum(await Promise.all(writes)),
  };
}

/** A key of an account that nothing limits here. */
function keyOf(root, env) {
  const admin = (...args) => {
    const { stdout, stderr } = spawnSync(process.execPath, ['dist/gateway/admin.js', ...args], {
      cwd: root,
      env: { PATH: process.env.PATH, ...env },
      encoding: 'utf8',
    });
    if (stderr) throw new Error(stderr);
    return stdout;
  };
  const id = admin('create', 'bench', '--plan', 'enterprise', '--credits', '10000000').trim();
  admin('plan', id, 'enterprise', '--rate', '10000');
  return admin('key', id, 'bench').trim().split(/\s/)[0];
}

const sum = (list) => list.reduce((total, one) => total + one, 0);
const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];
