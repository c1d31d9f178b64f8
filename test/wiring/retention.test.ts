/** What stays on the disk of a whole service after searches, and what a search that finds nothing costs. */
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { x402Client } from '@x402/core/client';
import { decodePaymentRequiredHeader, encodePaymentSignatureHeader } from '@x402/core/http';
import { ExactEvmScheme } from '@x402/evm';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { expectRefusal } from '../support/errors.js';
import {
  goodAnswer,
  startFakeSearchCore,
  type FakeSearchCore,
} from '../support/fake-search-core.js';
import { receiptOf, signPayment, transfersToPayee } from '../support/pay.js';
import { startTestService, type TestService } from '../support/service.js';
import { until } from '../support/until.js';

const DENIED = privateKeyToAccount(generatePrivateKey());

let core: FakeSearchCore;
let folder: string;
beforeAll(async () => {
  core = await startFakeSearchCore();
  folder = await mkdtemp(join(tmpdir(), 'search402-retention-'));
  await writeFile(join(folder, 'denied'), `# A list.\n${DENIED.address} # of one\n`);
});
afterAll(async () => {
  await core.stop();
  await rm(folder, { recursive: true, force: true });
});

/** The page of every query but one that finds nothing. */
const PASSAGE = 'Zwölf Böjen mark the quicksilver channel.';
const page = { title: 'Buoys', url: 'https://pages.example/buoys', description: PASSAGE };
const NOTHING = 'nothinghere';

const start = (dataDir: string, env: Record<string, string>): Promise<TestService> => {
  core.behave((request, response, body) => {
    response.end(goodAnswer(request, body.includes(NOTHING) ? [] : [page]));
  });
  return startTestService({ dataDir, env: { SEARCH_CORE_URL: core.url, ...env } });
};

/** Every query here, as JSON would write it too. */
const QUERIES = ['quicksilver by key', 'quicksilver once only', 'quicksilver for money'] as const;
const [BY_KEY, ONCE, PAID] = QUERIES;
const hashOf = (query: string) =>
  createHash('sha256')
    .update(`POST\n/search\n${JSON.stringify([query, 10, 3000])}`)
    .digest('hex');

/** Names of files below a folder that hold one of these texts. */
async function filesWith(texts: readonly string[]): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const found = await Promise.all(
    entries.map(async (entry) => {
      if (!entry.isFile()) return [];
      const bytes = await readFile(join(entry.parentPath, entry.name));
      return texts.some((text) => bytes.includes(text)) ? [entry.name] : [];
    }),
  );
  return found.flat();
}

/** Searches in each way that leaves something behind, and asks for each reply again. */
async function searchInEveryWay(service: TestService): Promise<void> {
  const authorization = `Bearer ${service.dev.apiKey}`;
  expect((await service.search({ query: BY_KEY }, { authorization })).status).toBe(200);
  const once = { authorization, 'idempotency-key': 'one' };
  const first = await service.search({ query: ONCE }, once);
  const second = await service.search({ query: ONCE }, once);
  expect(await second.text()).toBe(await first.text());
  const payment = { 'payment-signature': await signPayment(service, { query: PAID }) };
  const paid = await service.search({ query: PAID }, payment);
  expect(paid.status).toBe(200);
  const text = await paid.text();
  expect(text).toContain('quicksilver');
  const again = await service.search({ query: PAID }, payment);
  expect([await again.text(), receiptOf(again)]).toEqual([text, receiptOf(paid)]);
  await expectRefusal(
    await service.search({ query: BY_KEY }, payment),
    'authorization_bound_to_other_request',
  );
}

describe.each(['on', 'off'])('after searches with RETENTION=%s', (retention) => {
  const dataDir = () => join(folder, retention);
  let payment: Record<string, string>;
  let delivered: string;
  beforeAll(async () => {
    const service = await start(dataDir(), { RETENTION: retention });
    await searchInEveryWay(service);
    payment = { 'payment-signature': await signPayment(service, { query: PAID }) };
    delivered = await (await service.search({ query: PAID }, payment)).text();
    // Usage is written every second, and at the end.
    await service.stop();
  });
  afterAll(() => rm(dataDir(), { recursive: true, force: true }));

  if (retention === 'on') {
    test('the disk holds the queries, their hashes and the passages', async () => {
      expect(await filesWith([BY_KEY])).not.toEqual([]);
      expect(await filesWith([hashOf(PAID)])).not.toEqual([]);
      expect(await filesWith([PASSAGE])).not.toEqual([]);
    });
    return;
  }

  test('no file holds a query, a hash of one, or a passage', async () => {
    const hashes = QUERIES.map(hashOf);
    const bytes = hashes.map((hash) => Buffer.from(hash, 'hex').toString('latin1'));
    expect(await filesWith([...QUERIES, ...hashes, ...bytes, 'quicksilver', PASSAGE])).toEqual([]);
  });

  test('who has paid still gets the reply after a restart, and nobody without the query', async () => {
    const service = await start(dataDir(), { RETENTION: retention });
    const again = await service.search({ query: PAID }, payment);
    expect([again.status, await again.text()]).toEqual([200, delivered]);
    await service.stop();
  });
});

describe('with CHARGE_EMPTY_SEARCHES=off and a list of denied payers', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await start(join(folder, 'free'), {
      CHARGE_EMPTY_SEARCHES: 'off',
      PAYER_DENY_FILE: join(folder, 'denied'),
    });
  });
  afterAll(() => service.stop());

  const credits = async () => {
    const headers = { authorization: `Bearer ${service.dev.apiKey}` };
    const response = await fetch(`${service.apiUrl}/account`, { headers });
    return ((await response.json()) as { credits: object }).credits;
  };

  test('a keyed search without results costs no credit, and usage counts it as free', async () => {
    const headers = { authorization: `Bearer ${service.dev.apiKey}` };
    const before = await credits();
    const empty = await service.search({ query: NOTHING }, headers);
    expect(await empty.json()).toMatchObject({ result: { totalResults: 0 } });
    const once = { ...headers, 'idempotency-key': 'empty' };
    await (await service.search({ query: NOTHING }, once)).text();
    await (await service.search({ query: NOTHING }, once)).text();
    expect(await credits()).toEqual(before);
    await until(async () => {
      const usage = await fetch(`${service.apiUrl}/account/usage`, { headers });
      const { usage: days } = (await usage.json()) as {
        usage: { searches: number; credits: number }[];
      };
      return days[0]?.searches === 3 && days[0].credits === 0;
    });
  });

  test('a paid search without results moves nothing, says so, and leaves the payment unused', async () => {
    const body = { query: NOTHING };
    const payment = { 'payment-signature': await signPayment(service, body) };
    const before = await transfersToPayee(service);
    const empty = await service.search(body, payment);
    expect(await empty.json()).toMatchObject({ result: { totalResults: 0 } });
    expect(receiptOf(empty)).toEqual({
      success: true,
      transaction: '',
      amount: '0',
      network: 'eip155:8453',
      payer: service.dev.payerAddress.toLowerCase(),
    });
    expect(await transfersToPayee(service)).toHaveLength(before.length);
    // The page has come since: the same payment buys it, once.
    const full = await service.search({ query: PAID }, payment);
    expect(receiptOf(full)).toMatchObject({ success: true, amount: '50' });
    expect(await transfersToPayee(service)).toHaveLength(before.length + 1);
    await expectRefusal(
      await service.search(body, payment),
      'authorization_bound_to_other_request',
    );
  });

  test('a denied payer is refused before the search, and signs no new payment', async () => {
    const unpaid = await service.search({ query: PAID });
    const challenge = decodePaymentRequiredHeader(unpaid.headers.get('payment-required') ?? '');
    const client = new x402Client().register('eip155:8453', new ExactEvmScheme(DENIED));
    const signed = encodePaymentSignatureHeader(await client.createPaymentPayload(challenge));
    const searches = core.seen.length;
    const response = await service.search({ query: PAID }, { 'payment-signature': signed });
    expect(response.headers.get('payment-required')).toBeNull();
    await expectRefusal(response, 'payer_denied');
    expect(core.seen).toHaveLength(searches);
  });
});
