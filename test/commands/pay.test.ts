import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startTestService, type TestService } from '../support/service.js';

let service: TestService;
let challenge: string;
const folder = mkdtempSync(join(tmpdir(), 'search402-pay-'));
beforeAll(async () => {
  service = await startTestService();
  const unpaid = await service.search({ query: 'lighthouse' });
  challenge = unpaid.headers.get('payment-required') ?? '';
});
afterAll(async () => {
  await service.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs the program as a person would; the facts come from a `dev.json` with this gateway. */
async function pay(gatewayUrl: string, ...args: string[]) {
  writeFileSync(join(folder, 'dev.json'), JSON.stringify({ ...service.dev, gatewayUrl }));
  const program = new URL('../../commands/pay.js', import.meta.url).pathname;
  const child = spawn(process.execPath, [program, ...args], {
    env: { PATH: process.env.PATH, DATA_DIR: folder },
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, output };
}

type Answer = (response: ServerResponse) => void;

const json = (status: number, body: object, headers: Record<string, string> = {}): Answer => {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  };
};

const refused = (status: number, code: string, headers: Record<string, string> = {}) =>
  json(status, { title: 't', status, detail: 'Because.', requestId: 'r', code }, headers);

const found = json(
  200,
  {
    requestId: 'r',
    result: { results: [], searchMetadata: { executionTime: 0.001 }, totalResults: 0 },
  },
  {
    'payment-response': Buffer.from(
      JSON.stringify({
        success: true,
        transaction: `0x${'ab'.repeat(32)}`,
        network: 'eip155:8453',
      }),
    ).toString('base64'),
  },
);

/** A gateway that challenges, and then gives these answers to payments, one after the other. */
async function withGateway<T>(answers: readonly Answer[], use: (url: string) => Promise<T>) {
  const payments: string[] = [];
  const server = createServer((request: IncomingMessage, response) => {
    request.resume();
    const payment = request.headers['payment-signature'];
    if (typeof payment !== 'string') {
      refused(402, 'payment_required', { 'payment-required': challenge })(response);
      return;
    }
    const answer = answers[Math.min(payments.length, answers.length - 1)];
    payments.push(payment);
    answer?.(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const { port } = server.address() as AddressInfo;
    return { ...(await use(`http://127.0.0.1:${port}`)), payments };
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

describe('npm run pay', () => {
  test('pays the real gateway and prints price, results and the transaction', async () => {
    const { code, output } = await pay(service.gatewayUrl, 'lighthouse', 'lamp');
    expect(output).toMatch(/Price: 0\.00005 USD on eip155:8453/);
    expect(output).toContain('1. Keeping a lighthouse\n   https://pages.example/lighthouse');
    expect(output).toMatch(/Transaction 0x[0-9a-f]{64}\n/);
    expect(code).toBe(0);
  });

  test('prints one JSON object when asked', async () => {
    const { code, output } = await pay(service.gatewayUrl, '--json', 'bread');
    const { quote, transaction, response } = JSON.parse(output) as Record<string, never>;
    expect(quote).toMatchObject({ usd: '0.00005' });
    expect(transaction).toMatch(/^0x[0-9a-f]{64}$/);
    expect(response).toMatchObject({ result: { totalResults: 1 } });
    expect(code).toBe(0);
  });

  test('signs nothing that is dearer than the cap', async () => {
    const { code, output, payments } = await withGateway([found], (url) =>
      pay(url, '--max-usd', '0.00001', 'bread'),
    );
    expect(output).toContain('asks for 0.00005 USD');
    expect(payments).toEqual([]);
    expect(code).toBe(1);
  });

  test('sends the same payment again while its outcome is not known, never a new one', async () => {
    const pending = refused(503, 'settlement_pending', { 'retry-after': '1' });
    const lost: Answer = (response) => response.destroy();
    const { code, payments } = await withGateway([pending, lost, pending, found], (url) =>
      pay(url, 'bread'),
    );
    expect(code).toBe(0);
    expect(payments).toHaveLength(4);
    expect(new Set(payments).size).toBe(1);
  });

  test('a refusal after an unknown outcome is not called unpaid', async () => {
    const lost: Answer = (response) => response.destroy();
    const refusal = refused(402, 'payment_invalid');
    const { code, output } = await withGateway([lost, refusal], (url) => pay(url, 'bread'));
    expect(output).toContain('what became of it is not known');
    expect(code).toBe(1);
  });

  test.each([
    [402, 'settlement_failed'],
    [504, 'upstream_timeout'],
  ])('a %s %s after paying ends it with one payment and the reason', async (status, reason) => {
    const { code, output, payments } = await withGateway([refused(status, reason)], (url) =>
      pay(url, 'bread'),
    );
    expect(output).toContain(`answered ${status} (${reason}: Because.). Nothing was paid.`);
    expect(payments).toHaveLength(1);
    expect(code).toBe(1);
  });

  test('a query that the gateway refuses is not paid for', async () => {
    const { code, output } = await pay(service.gatewayUrl, Array(51).fill('word').join(' '));
    expect(output).toContain('422 (invalid_parameter');
    expect(code).toBe(1);
  });

  test('says how to start a gateway that does not answer', async () => {
    const closed = await withGateway([], (url) => Promise.resolve({ url }));
    const { code, output } = await pay(closed.url, 'bread');
    expect(output).toContain('doesn’t answer (ECONNREFUSED). Is it running? npm start');
    expect(code).toBe(1);
  });

  test.each([
    [[], 'Enter what to search for'],
    [['--max-usd', 'much', 'bread'], '--max-usd takes dollars'],
    [['--url', 'ftp://x', 'bread'], '--url takes an address'],
    [['--key-env', 'NOT_SET', 'bread'], 'NOT_SET must hold a private key'],
    [['--frob', 'bread'], '--frob'],
  ])('a command line that cannot be used says so: %j', async (args, message) => {
    const { code, output } = await pay(service.gatewayUrl, ...args);
    expect(output).toContain(message);
    expect(code).toBe(2);
  });

  test('--help lists every option', async () => {
    const { code, output } = await pay(service.gatewayUrl, '--help');
    for (const option of ['--url', '--key-env', '--max-usd', '--max-results', '--json']) {
      expect(output).toContain(option);
    }
    expect(code).toBe(0);
  });
});
