import { mkdtempSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { x402Client } from '@x402/core/client';
import { BatchSettlementEvmScheme } from '@x402/evm/batch-settlement/client';
import { wrapFetchWithPayment } from '@x402/fetch';
import type { DevFacts } from '../../gateway/dev/facts.js';
import { payerOf } from '../support/chain.js';
import {
  goodAnswer,
  startFakeSearchCore,
  type FakeSearchCore,
} from '../support/fake-search-core.js';
import { startGateway, type RunningGateway } from '../support/gateway-process.js';

let core: FakeSearchCore;
let folder: string;
let gateway: RunningGateway;

const start = () => startGateway({ DATA_DIR: folder, SEARCH_CORE_URL: core.url, CHANNELS: 'on' });

beforeAll(async () => {
  core = await startFakeSearchCore();
  folder = mkdtempSync(join(tmpdir(), 'search402-channels-'));
  gateway = await start();
}, 120_000);
afterAll(async () => {
  gateway.process.kill('SIGTERM');
  await gateway.exited;
  await core.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** What a payment was sent as, without the address, which is another one after each start. */
interface Sent {
  readonly headers: Headers;
  readonly body: string;
}

async function kill(): Promise<void> {
  gateway.process.kill('SIGKILL');
  await gateway.exited;
  gateway = await start();
}

test('killed during a search or after it, the same voucher gets one reply and is charged once', async () => {
  const facts = JSON.parse(await readFile(join(folder, 'dev.json'), 'utf8')) as DevFacts;
  const payer = payerOf(facts.payerPrivateKey as `0x${string}`);
  const sent: Sent[] = [];
  const recording: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    if (request.headers.has('payment-signature'))
      sent.push({ headers: request.headers, body: await request.clone().text() });
    return fetch(request);
  };
  const client = new x402Client().register(
    'eip155:8453',
    new BatchSettlementEvmScheme(payer.account),
  );
  const pay = wrapFetchWithPayment(recording, client);
  const search = (query: string) =>
    pay(`${gateway.url}/search`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    });
  const again = async ({ headers, body }: Sent) => {
    const reply = await fetch(`${gateway.url}/search`, { method: 'POST', headers, body });
    return { status: reply.status, text: await reply.text(), receipt: receiptOf(reply) };
  };
  expect((await search('opens the channel')).status).toBe(200);

  // Killed while the search runs.
  const running = new Promise<void>((resolve) => core.behave(() => resolve()));
  const lost = search('never answered').catch(() => undefined);
  await running;
  await kill();
  await lost;
  core.behave((request, response) => response.end(goodAnswer(request)));
  const interrupted = sent.at(-1);
  if (!interrupted) throw new Error('no voucher was sent');
  const first = await again(interrupted);
  expect(first.status).toBe(200);

  // Killed after the reply.
  await kill();
  expect(await again(interrupted)).toEqual(first);
  expect(first.receipt).toContain('"chargedCumulativeAmount":"100"');
});

function receiptOf(reply: Response): string {
  return Buffer.from(reply.headers.get('payment-response') ?? '', 'base64').toString();
}
