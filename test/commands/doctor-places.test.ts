/** What the doctor finds in the places around the gateway: mail, public address, files, index. */
import { execFile } from 'node:child_process';
import {
  chmodSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { createServer as createHttpsServer } from 'node:https';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { examine } from '../../commands/doctor/examine.js';
import { type Finding, guarded } from '../../commands/doctor/finding.js';
import { buildIndex } from '../../search-core/index/build.js';
import { COMMIT_FILE } from '../../search-core/index/commit.js';
import { CERTIFICATE, CERTIFICATE_KEY } from '../support/certificate.js';

import { startMailServer, type MailServerSettings } from '../support/mail-server.js';
import { removeTemporaries, temporary } from '../support/temporary.js';
import { runTool, sayMissing, toolPath } from '../support/tools.js';

removeTemporaries();

const settings = (more: Readonly<Record<string, string>>) => ({
  DATA_DIR: join(temporary(), 'data'),
  PORT: '0',
  API_PORT: '0',
  OPS_PORT: '0',
  RPC_URLS: 'http://127.0.0.1:1',
  PAY_TO: `0x${'11'.repeat(20)}`,
  RELAYER_PRIVATE_KEY: `0x${'42'.repeat(32)}`,
  ...more,
});

async function all(more: Readonly<Record<string, string>>): Promise<Record<string, Finding>> {
  const findings = await examine(settings(more));
  for (const { state, cure } of findings) if (state !== 'good') expect(cure).toMatch(/\w/);
  return Object.fromEntries(findings.map((finding) => [finding.check, finding]));
}

test('a check that never ends is ended, and says so', async () => {
  const [finding] = await guarded('thing', () => new Promise<never>(() => undefined), 20);
  expect(finding).toMatchObject({
    state: 'bad',
    said: 'The check of thing failed: no answer within 0.02 seconds.',
  });
});

test('servers that take connections and say nothing are found, each by its own limit', async () => {
  const sockets: Socket[] = [];
  const silent = createServer((socket) => void sockets.push(socket.on('error', () => undefined)));
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const place = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const found = await all({
    RPC_URLS: `http://${place}`,
    DATABASE_URL: `postgresql://test@${place}/x`,
    SMTP_URL: `smtp://${place}`,
    PUBLIC_URL: `https://${place}`,
    SEARCH_CORE_URL: `http://${place}`,
  });
  for (const socket of sockets) socket.destroy();
  silent.close();
  expect(found).toMatchObject({
    'rpc.answers': { state: 'bad' },
    database: { state: 'bad' },
    smtp: { state: 'bad', said: expect.stringMatching(/greeting/i) },
    'public.tls': { state: 'warning', said: expect.stringContaining('no answer in time') },
    index: { state: 'bad' },
  });
});

describe('of mail', () => {
  const greeted = async (server: MailServerSettings, url: (port: number) => string) => {
    const { port, stop } = await startMailServer(server);
    const found = await all({ SMTP_URL: url(port) });
    await stop();
    return found['smtp.tls'] ?? found.smtp;
  };
  const tls = { cert: CERTIFICATE, key: CERTIFICATE_KEY };

  test('all is well with a server on this machine', async () => {
    const finding = await greeted({}, (port) => `smtp://127.0.0.1:${port}`);
    expect(finding).toMatchObject({ check: 'smtp', state: 'good' });
  });

  test.each<[string, MailServerSettings, (port: number) => string, Partial<Finding>]>([
    [
      'a server without the STARTTLS that the setting asks for',
      {},
      (port) => `smtp://127.0.0.1:${port}?requireTLS=true`,
      { check: 'smtp', state: 'bad', cure: expect.stringMatching(/STARTTLS/) as unknown as string },
    ],
    [
      'a server elsewhere without STARTTLS',
      {},
      (port) => `smtp://0.0.0.0:${port}`,
      { check: 'smtp.tls', state: 'warning' },
    ],
    [
      'a certificate that nobody believes',
      { tls },
      (port) => `smtp://127.0.0.1:${port}`,
      {
        check: 'smtp',
        state: 'bad',
        said: expect.stringMatching(/self-signed/) as unknown as string,
      },
    ],
    [
      'a password that is refused',
      { signIn: '535 No' },
      (port) => `smtp://somebody:wrong@127.0.0.1:${port}`,
      { check: 'smtp', state: 'bad', cure: 'Check user and password in SMTP_URL.' },
    ],
  ])('%s is found', async (_, server, url, finding) => {
    expect(await greeted(server, url)).toMatchObject(finding);
  });
});

describe('of the public address', () => {
  const serveTls = async (cert: string, key: string) => {
    const server = createHttpsServer({ cert, key }, (_, response) => {
      response.end('{"status":"live"}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    return {
      url: `https://localhost:${port}`,
      stop: () => {
        server.close();
        server.closeAllConnections();
      },
    };
  };

  test('a name that leads nowhere is found', async () => {
    expect((await all({ PUBLIC_URL: 'https://nowhere.invalid' }))['public.dns']).toMatchObject({
      state: 'bad',
      said: expect.stringContaining('nowhere.invalid'),
    });
  });

  test('a certificate that nobody believes is found', async () => {
    const { url, stop } = await serveTls(CERTIFICATE, CERTIFICATE_KEY);
    const found = await all({ PUBLIC_URL: url });
    stop();
    expect(found['public.tls']).toMatchObject({
      state: 'bad',
      said: expect.stringMatching(/SELF_SIGNED|self-signed/),
    });
    expect(found.public).toBeUndefined();
  });

  test('a certificate that ends soon is found, and mail by STARTTLS is well where it is believed', async () => {
    const openssl = toolPath('openssl');
    if (openssl === undefined) {
      sayMissing('openssl', 'Debian: apt-get install openssl');
      return;
    }
    const folder = temporary();
    const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    const made = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 5 -keyout ${key} -out ${cert}`;
    const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
    await runTool(openssl, [...made.split(' '), ...names]);
    const pem = { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
    const [site, mail] = await Promise.all([
      serveTls(pem.cert, pem.key),
      startMailServer({ tls: pem }),
    ]);
    const report = await examineAlone({
      NODE_EXTRA_CA_CERTS: cert,
      PUBLIC_URL: site.url,
      SMTP_URL: `smtp://localhost:${mail.port}?requireTLS=true`,
    });
    site.stop();
    await mail.stop();
    expect(report['public.tls']).toMatchObject({
      state: 'warning',
      said: expect.stringMatching(/valid for [45] more days/),
    });
    expect(report).toMatchObject({ public: { state: 'good' }, smtp: { state: 'good' } });
  });

  const DOCTOR = new URL('../../commands/doctor.js', import.meta.url).pathname;
  const examineAlone = (more: Readonly<Record<string, string>>) =>
    new Promise<Record<string, Finding>>((resolve) => {
      const env = { PATH: process.env.PATH ?? '', ...settings(more) };
      execFile(process.execPath, [DOCTOR, '--json'], { env }, (_, stdout) => {
        const { findings } = JSON.parse(stdout) as { findings: Finding[] };
        resolve(Object.fromEntries(findings.map((finding) => [finding.check, finding])));
      });
    });
});

describe('of files', () => {
  test('modes in the data folder that let others in are found', async () => {
    const folder = temporary();
    chmodSync(folder, 0o700);
    writeFileSync(join(folder, 'sealing.key'), '');
    chmodSync(join(folder, 'sealing.key'), 0o644);
    expect((await all({ DATA_DIR: folder }))['permissions.files']).toMatchObject({
      state: 'warning',
      said: expect.stringContaining('sealing.key'),
    });
  });

  test('a sealing key that is none, or away, is found', async () => {
    const file = join(temporary(), 'sealing.key');
    const found = await all({ SEALING_KEY_FILE: file });
    expect(found['sealing.key']).toMatchObject({ state: 'bad' });
    writeFileSync(file, 'no key', { mode: 0o600 });
    const none = await all({ SEALING_KEY_FILE: file });
    expect(none['sealing.key']).toMatchObject({ state: 'bad' });
    writeFileSync(file, 'ab'.repeat(32));
    const well = await all({ SEALING_KEY_FILE: file });
    expect(well['sealing.key']).toBeUndefined();
    expect(well['permissions.keys']).toMatchObject({ state: 'good' });
  });

  test('a large file that is no database is found', async () => {
    const folder = temporary();
    const file = join(folder, 'search402.db');
    writeFileSync(file, 'no database at all, and long enough to be one');
    truncateSync(file, 2 * 1024 ** 3);
    expect((await all({ DATA_DIR: folder })).database).toMatchObject({ state: 'bad' });
  });
});

async function* onePage() {
  const text = 'One page of words.';
  yield await Promise.resolve({ url: 'https://a.example/', title: 'A', text });
}

test('an old index, one without room for a merge, and one with a missing file are found', async () => {
  const folder = temporary();
  const index = join(folder, 'index');
  await buildIndex(index, onePage());
  const young = await all({ DATA_DIR: folder });
  expect(young.index).toMatchObject({ state: 'good', said: expect.stringContaining('1 pages') });
  expect(young['index.age']).toMatchObject({ state: 'good' });

  const old = new Date(Date.now() - 40 * 86_400_000);
  utimesSync(join(index, COMMIT_FILE), old, old);
  const { bavail, bsize } = statfsSync(folder);
  const text = readdirSync(index).find((name) => name.endsWith('.text')) ?? 'none';
  truncateSync(join(index, text), bavail * bsize + 1024 ** 3);
  const found = await all({ DATA_DIR: folder });
  expect(found['index.age']).toMatchObject({
    state: 'warning',
    said: expect.stringContaining('40 days'),
  });
  expect(found['index.room']).toMatchObject({ state: 'warning' });

  rmSync(join(index, text));
  expect((await all({ DATA_DIR: folder })).index).toMatchObject({
    state: 'bad',
    said: expect.stringContaining(`${text} is missing`),
  });
});
