import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createPublicClient, formatUnits, http, parseAbiItem, parseEther } from 'viem';
import { USDC_ADDRESS } from '../../contracts-abi/addresses.js';
import { postPacks, signForPack } from '../support/packs.js';
import { receiptOf, signPayment } from '../support/pay.js';
import { startTestService, type TestService } from '../support/service.js';

const TRANSFER = parseAbiItem(
  'event Transfer(address indexed from, address indexed to, uint256 value)',
);
const PROGRAM = fileURLToPath(new URL('../../commands/ledger.js', import.meta.url));

let service: TestService;
let transaction: string;
beforeAll(async () => {
  service = await startTestService({ env: { PACKS: '1000,10=0.002' } });
  const body = { query: 'lighthouse' };
  const payment = { 'payment-signature': await signPayment(service, body) };
  const response = await service.search(body, payment);
  transaction = receiptOf(response).transaction;
});
afterAll(() => service.stop());

function ledger(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const env = { ...process.env, DATA_DIR: service.dataDir };
  return new Promise((resolve) => {
    execFile(process.execPath, [PROGRAM, ...args], { env }, (error, out, err) => {
      resolve({ code: error ? Number(error.code) : 0, out, err });
    });
  });
}

describe('npm run ledger, beside the running gateway', () => {
  test('lists payments with their sum', async () => {
    const { code, out } = await ledger('list', '--status', 'settled,final');
    expect(code).toBe(0);
    expect(out).toContain(transaction);
    expect(out).toContain('1 payment, 0.00005 USD');
  });

  test('explains one payment with every fact and time, and never shows the signature', async () => {
    const { code, out } = await ledger('explain', transaction);
    expect(code).toBe(0);
    const day = /[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z {2}/.source;
    for (const fact of ['reserved', 'served', 'signed', 'broadcast', 'settled', 'transaction 0x']) {
      expect(out).toMatch(new RegExp(day + fact));
    }
    expect(out).toMatch(/cost \d+ wei \(\d+ gas at \d+, L1 fee \d+\)/);
    const json = await ledger('explain', transaction, '--json');
    expect(JSON.parse(json.out)).toMatchObject({
      transaction,
      authorization: { value: '50', from: service.dev.payerAddress.toLowerCase() },
      transactions: [{ hash: transaction, publishingFeeWei: expect.stringMatching(/^\d+$/) }],
    });
    expect(json.out).not.toContain('"signature"');
  });

  test('finds every settled payment on the chain, and lists nothing else', async () => {
    const { code, out } = await ledger('reconcile', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      settled: { count: 1, units: '50' },
      matched: { count: 1, units: '50' },
      missing: [],
      others: [],
    });
  });

  test('exports CSV with one record a payment', async () => {
    const { out } = await ledger('export');
    const [header, record, ...rest] = out.trim().split('\n');
    expect(header?.split(',')).toHaveLength(17);
    expect(record?.split(',')).toHaveLength(17);
    expect(record).toContain(transaction);
    expect(rest).toEqual([]);
  });

  test('exports every movement of money, and the sums are what the token moved', async () => {
    const { out } = await ledger('export', '--movements', '--own', service.dev.payerAddress);
    const [header = '', ...records] = out.trim().split('\n');
    const names = header.split(',');
    const rows = records.map((record) => {
      const fields = record.split(',');
      return Object.fromEntries(names.map((name, index) => [name, fields[index] ?? '']));
    });
    const request = expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown;
    expect(rows).toMatchObject([
      { kind: 'exact', amount_usdc: '0.00005', request_id: request, own_wallet: 'yes' },
      { kind: 'gas', transaction, own_wallet: 'yes', amount_usdc: '', moved_usdc: '' },
    ]);
    const client = createPublicClient({ transport: http(service.dev.rpcUrl) });
    const logs = await client.getLogs({
      address: USDC_ADDRESS,
      event: TRANSFER,
      args: { to: service.dev.payTo as `0x${string}` },
      fromBlock: 0n,
    });
    const bought = rows.filter(({ kind }) => kind === 'exact');
    expect(bought.map((row) => [row.transaction, row.payer, row.moved_usdc])).toEqual(
      logs.map(({ transactionHash, args: { from, value = 0n } }) => [
        transactionHash,
        from?.toLowerCase(),
        formatUnits(value, 6),
      ]),
    );
    const mined = await client.getTransactionReceipt({ hash: transaction as `0x${string}` });
    const [gas] = rows.filter(({ kind }) => kind === 'gas');
    expect(gas?.gas_used).toBe(String(mined.gasUsed));
    expect(gas?.payer).toBe(mined.from.toLowerCase());
    const wei = parseEther(gas?.gas_cost_eth ?? '');
    expect(wei).toBeGreaterThanOrEqual(mined.gasUsed * mined.effectiveGasPrice);
  });

  test('a pack is told from a search', async () => {
    const body = { searches: 10 };
    const payment = { 'payment-signature': await signForPack(service, body) };
    expect((await postPacks(service, payment, body)).status).toBe(200);
    const { out } = await ledger('export', '--movements');
    const packs = out.split('\n').filter((record) => record.split(',')[2] === 'pack');
    expect(packs).toHaveLength(1);
    expect(packs[0]).toContain(service.dev.payerAddress.toLowerCase());
  });

  test('movements are those of a time and a payer', async () => {
    const none = await ledger('export', '--movements', '--until', '2020-01-01');
    expect(none.out.trim().split('\n')).toHaveLength(1);
    const mine = await ledger('export', '--movements', '--payer', service.dev.payerAddress);
    expect(mine.out).not.toContain(',gas,');
    expect(mine.out).toContain(transaction);
  });

  test.each([
    [['export', '--movements', '--own', '0x12'], '--own: 0x12 is no address'],
    [['export', '--movements', '--status', 'final'], '--status is for payments'],
    [['nonsense'], 'unknown command nonsense'],
    [['list', '--status', 'lost'], 'there is no status lost'],
    [['list', '--since', 'yesterday'], 'is not an ISO 8601 time'],
    [['explain', 'nobody'], 'the books know no payment nobody'],
  ])('says what is wrong with %j and ends with 2', async (args, message) => {
    const { code, err } = await ledger(...args);
    expect(code).toBe(2);
    expect(err).toContain(message);
  });

  test('without books says so', async () => {
    const env = { ...process.env, DATA_DIR: join(service.dataDir, 'none') };
    const { stderr, code } = await new Promise<{ stderr: string; code: unknown }>((resolve) => {
      execFile(process.execPath, [PROGRAM, 'list'], { env }, (error, _, text) =>
        resolve({ stderr: text, code: error?.code }),
      );
    });
    expect(code).toBe(2);
    expect(stderr).toContain('there are no books at');
  });
});
