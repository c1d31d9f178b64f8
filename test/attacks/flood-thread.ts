/** A thread that floods a server, so that its own work is not in what others see. */
import { randomBytes } from 'node:crypto';
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import type { Flood, FloodReport } from './flood.js';
import { ask, type Client } from './machine.js';

const TICK_MS = 20;

const { url, kind, perSecond, seconds, localAddress, challenge } = workerData as Flood;
const agent = new Agent({ keepAlive: true, maxSockets: 256 });
const hex = (length: number) => `0x${randomBytes(length).toString('hex')}`;

/** Bytes that look like a signature. */
function forgedSignature(): string {
  // s in the lower half and v 27 or 28: nothing but a recovery shows that it is nobody's.
  const s = randomBytes(32);
  s[0] = (s[0] ?? 0) & 0x3f;
  const v = (randomBytes(1)[0] ?? 0) % 2 === 0 ? '1b' : '1c';
  return `${hex(32)}${s.toString('hex')}${v}`;
}

const KNOWN_PAYER = `0x${'ab'.repeat(20)}`;

/** A payment for what is asked, of a payer that nobody knows, with bytes for a signature. */
function forged(): string {
  const accepted = challenge.accepts[0];
  const payload = {
    signature: forgedSignature(),
    authorization: {
      from: kind === 'known-payer' ? KNOWN_PAYER : hex(20),
      to: accepted?.payTo,
      value: accepted?.amount,
      validAfter: '0',
      validBefore: String(Math.floor(Date.now() / 1000) + 200),
      nonce: hex(32),
    },
  };
  const resource = { url: `http://localhost/${'/'.repeat(2000)}x` };
  const isSlashes = kind === 'slashes';
  const payment = { x402Version: 2, accepted, payload, ...(isSlashes && { resource }) };
  return Buffer.from(JSON.stringify(payment)).toString('base64');
}

/** A question about a payment, as its payer would ask it. */
function askAboutPayment(client: Client) {
  const nonce = hex(32);
  const issuedAt = Math.floor(Date.now() / 1000);
  const proof = { payer: KNOWN_PAYER, nonce, issuedAt, signature: forgedSignature() };
  const header = Buffer.from(JSON.stringify(proof)).toString('base64');
  const headers = { 'payment-proof': header };
  return ask(`${url}/payments/${nonce}`, client, { method: 'GET', headers });
}

const LIST = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} });
const MCP_HEADERS = { accept: 'application/json, text/event-stream' };

function once() {
  const client = { localAddress, agent };
  switch (kind) {
    case 'forged':
    case 'known-payer':
    case 'slashes':
      return ask(`${url}/search`, client, { headers: { 'payment-signature': forged() } });
    case 'proofs':
      return askAboutPayment(client);
    case 'tools':
      return ask(`${url}/mcp`, client, { body: LIST, headers: MCP_HEADERS });
    case 'oauth':
      return ask(`${url}/oauth/register`, client, { body: '{"redirect_uris":["x:/y"]}' });
    case 'console':
      return ask(`${url}/console/sign-in`, client, { method: 'GET' });
    case 'docs':
      return ask(`${url}/docs`, client, { method: 'GET' });
    case 'bad-keys':
      return ask(`${url}/search`, client, { headers: { authorization: `Bearer ${hex(20)}` } });
  }
}

const counts = new Map<number, number>();
const running = new Set<Promise<void>>();
const started = performance.now();
let sent = 0;
for (let elapsed = 0; elapsed < seconds * 1000; elapsed = performance.now() - started) {
  const due = Math.floor((elapsed / 1000) * perSecond);
  for (; sent < due && running.size < 512; sent += 1) {
    const one = once()
      .then(({ status }) => status)
      .catch(() => 0)
      .then((status) => {
        counts.set(status, (counts.get(status) ?? 0) + 1);
        running.delete(one);
      });
    running.add(one);
  }
  await sleep(TICK_MS);
}
await Promise.all(running);
agent.destroy();
parentPort?.postMessage({ sent, statuses: Object.fromEntries(counts) } satisfies FloodReport);
