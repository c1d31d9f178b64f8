// What keys, credits and limits cost a keyed search: the same HTTP application with them and
// without, by turns in one run, so that the machine's mood cancels out. Run it as
//   npm run build && node bench/keyed.mjs [SECONDS]
// search-core is played by a process that answers at once, which is the worst case for the ratio.
import { fork } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, createServer, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const CONNECTIONS = 32;
const ROUNDS = 3;
const BODY = JSON.stringify({ query: 'viem sign typed data' });

if (process.argv[2] === 'core') await playSearchCore();
else if (process.argv[2] === 'load') await load(JSON.parse(process.argv[3]));
else await compare(Number(process.argv[2] ?? 4));

/** Ten results of a thousand characters each, whatever is asked. */
async function playSearchCore() {
  const results = Array.from({ length: 10 }, (_, index) => ({
    title: `Result ${index}`,
    url: `https://example.org/${index}`,
    description: 'words '.repeat(170),
  }));
  const result = { results, searchMetadata: { executionTime: 0.001 }, totalResults: 10 };
  const server = createServer((asked, response) => {
    asked.resume().on('end', () => {
      const requestId = asked.headers['x-request-id'];
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify({ requestId, result }));
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  process.send({ url: `http://127.0.0.1:${server.address().port}` });
  process.on('disconnect', () => process.exit());
}

/** Sends searches over CONNECTIONS connections for some seconds; reports how many were answered. */
async function load({ port, key, seconds }) {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'content-length': BODY.length,
  };
  const one = () =>
    new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port, path: '/search', method: 'POST', agent, headers };
      const sent = request(options, (response) => {
        response.resume().on('end', () => resolve(response.statusCode));
      });
      sent.on('error', reject).end(BODY);
    });
  const counts = {};
  const end = performance.now() + seconds * 1000;
  const worker = async () => {
    while (performance.now() < end) {
      const status = await one();
      counts[status] = (counts[status] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, worker));
  process.send(counts);
  agent.destroy();
}

async function compare(seconds) {
  const [{ openAccess }, { openPeopleAccess }, { createApp }, { createSearch }] = await Promise.all(
    ['access', 'people-access', 'app', 'search/pipeline'].map(
      (name) => import(`../dist/gateway/${name}.js`),
    ),
  );
  const { createKeyedSearch } = await import('../dist/gateway/search/keyed.js');
  const { openStore } = await import('../dist/gateway/ground/store/open.js');
  const { sealingWith } = await import('../dist/gateway/ground/store/sealing.js');
  const { MIGRATIONS } = await import('../dist/gateway/wiring/migrations.js');
  const { systemClock: clock, systemRandom: random } =
    await import('../dist/gateway/ground/system.js');
  const { createAccount } = await import('../dist/gateway/customers/accounts/accounts.js');
  const quiet = () => undefined;
  const log = { debug: quiet, info: quiet, warn: quiet, error: quiet };
  const ports = { clock, random, log };
  const folder = await mkdtemp(join(tmpdir(), 'search402-bench-'));
  const store = await openStore(
    { location: join(folder, 'bench.db'), migrations: MIGRATIONS },
    { ...ports, onFailed: console.error },
  );
  const access = await openAccess(store, ports, 100);
  const bodyLimits = { bytesMax: 16_384, timeoutMs: 10_000 };
  const people = await openPeopleAccess(
    store,
    access,
    {
      publicUrl: 'http://127.0.0.1',
      mcp: { keyed: 'http://127.0.0.1/mcp', open: 'http://127.0.0.1/mcp' },
      mailFrom: 'bench@localhost',
      isOutboxShown: false,
      warnings: [],
      operatorEmails: [],
      priceUnits: 50n,
      bodyLimits,
    },
    { ...ports, sealing: sealingWith(random.bytes(32), random) },
  );
  const account = { id: 'bench', name: 'bench', plan: 'enterprise', credits: 50_000_000 };
  await store.write((tx) => createAccount(tx, { ...account, cause: 'operator' }, clock.now()));
  await store.write((tx) => tx.updateTable('accounts').set({ rate_per_second: 10_000 }).execute());
  const { key } = await access.keys.create('bench', null, { name: 'bench' });
  const { caller } = await access.keys.authenticate(`Bearer ${key}`);

  const core = fork(fileURLToPath(import.meta.url), ['core']);
  const { url } = await new Promise((resolve) => core.once('message', resolve));
  const { createUpstream } = await import('../dist/gateway/edge/http/upstream.js');
  const limits = { timeoutMs: 5000, bytesMax: 1_000_000, socketsMax: 256 };
  const node = {
    ...{ url, name: 'core', leaveOut: () => undefined },
    state: () => ({ ready: true, index: {} }),
  };
  const onTry = () => undefined;
  const run = createUpstream({ nodes: [node], ...limits, clock, onTry, log });
  const rate = { policy: 'search', limit: 1, windowSeconds: 1, remaining: 1, resetSeconds: 1 };
  const common = { run, readPayment: quiet, searchForPayment: quiet, admitAddress: quiet };
  const searches = {
    with: createSearch({
      ...common,
      meter: people.meter,
      authenticate: access.authenticate,
      admitCaller: (who) => access.limits.admit(who),
      searchOnCredits: createKeyedSearch(access.credits),
    }),
    without: createSearch({
      ...common,
      meter: () => quiet,
      authenticate: () => Promise.resolve(caller),
      admitCaller: () => Promise.resolve({ kind: 'admitted', rate }),
      searchOnCredits: async (_who, asked, _run, context) => {
        const answer = await run(asked, context);
        return { kind: 'results', requestId: context.requestId, body: answer.body };
      },
    }),
  };
  const servers = {};
  for (const [name, search] of Object.entries(searches)) {
    const app = createApp({
      homeUrl: 'http://localhost:4020',
      face: 'gateway',
      search,
      wire: { challengeHeader: quiet, receiptHeader: quiet },
      bodyLimits,
      isHttps: false,
      trustedProxies: 0,
      health: { live: quiet, ready: quiet },
      random,
      log,
    });
    servers[name] = createServer(app);
    await new Promise((resolve) => servers[name].listen(0, '127.0.0.1', resolve));
  }
  const measure = async (name) => {
    const facts = JSON.stringify({ port: servers[name].address().port, key, seconds });
    const before = process.cpuUsage();
    const child = fork(fileURLToPath(import.meta.url), ['load', facts]);
    const counts = await new Promise((resolve) => child.once('message', resolve));
    const failed = Object.entries(counts).filter(([status]) => status !== '200');
    if (failed.length > 0) throw new Error(`not all were answered: ${JSON.stringify(counts)}`);
    const { user, system } = process.cpuUsage(before);
    costs[name].push((user + system) / 1000 / counts[200]);
    return counts[200] / seconds;
  };
  const rates = { with: [], without: [] };
  const costs = { with: [], without: [] };
  for (const name of ['without', 'with']) await measure(name); // warm up
  for (let round = 0; round < ROUNDS; round++) {
    for (const name of ['without', 'with']) rates[name].push(await measure(name));
  }
  const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];
  const [bare, full] = [median(rates.without), median(rates.with)];
  // Of the gateway's process alone: what others do on the machine shows less in it than in rates.
  const [bareMs, fullMs] = [median(costs.without), median(costs.with)];
  console.log(
    `processor time of a search: ${bareMs.toFixed(2)} ms without, ${fullMs.toFixed(2)} with`,
  );
  console.log(`ratio by processor time: ${(bareMs / fullMs).toFixed(2)}`);
  const { writes, commits } = store.health();
  console.log(`keyed searches a second without keys, credits and limits: ${bare.toFixed(0)}`);
  console.log(`keyed searches a second with them:                        ${full.toFixed(0)}`);
  console.log(`ratio: ${(full / bare).toFixed(2)} (aim: 0.8)`);
  const { spent } = await access.credits.balance('bench');
  console.log(`${spent} credits spent in ${commits} commits (${writes} writes)`);
  const wrong = await access.credits.reconcile();
  if (wrong.length > 0) throw new Error('the books do not add up');
  for (const server of Object.values(servers)) server.close();
  core.disconnect();
  await people.stop();
  await access.stop();
  await store.close();
  await rm(folder, { recursive: true, force: true });
  process.exit(0);
}
