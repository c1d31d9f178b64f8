import { createServer, type AddressInfo, type Server } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { outboxMailer, readOutbox, smtpMailer } from '../../../gateway/customers/people/mail.js';
import { PEOPLE_MIGRATIONS } from '../../../gateway/customers/people/schema.js';
import { openStore } from '../../../gateway/ground/store/open.js';
import { handClock } from '../../support/accounts.js';
import { realClock, realRandom, silentLog } from '../../support/ports.js';

let server: Server | undefined;
afterEach(() => {
  server?.close();
});

/** A mail server that takes everything, after refusing the first `refusals` connections. */
async function startMailServer(refusals: number): Promise<{ url: string; mails: string[] }> {
  const mails: string[] = [];
  let left = refusals;
  server = createServer((socket) => {
    if (left > 0) {
      left -= 1;
      socket.end('421 busy\r\n');
      return;
    }
    let isData = false;
    let text = '';
    socket.write('220 test\r\n');
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      text += chunk.toString();
      if (isData) {
        if (!text.includes('\r\n.\r\n')) return;
        mails.push(text);
        isData = false;
        text = '';
        socket.write('250 taken\r\n');
        return;
      }
      for (const line of text.split('\r\n').slice(0, -1)) {
        isData = line.toUpperCase() === 'DATA';
        socket.write(
          isData ? '354 go on\r\n' : line.startsWith('QUIT') ? '221 bye\r\n' : '250 ok\r\n',
        );
      }
      text = '';
    });
  });
  const listening = server;
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  return { url: `smtp://127.0.0.1:${(listening.address() as AddressInfo).port}`, mails };
}

const mail = { to: 'ada@example.org', subject: 'Confirm', text: 'https://example.org/?token=x' };

test('mail goes out through the server that is set, from the sender that is set', async () => {
  const { url, mails } = await startMailServer(0);
  const mailer = smtpMailer(url, 'search402 <hello@example.org>', realClock, silentLog);
  mailer.send(mail);
  await mailer.drain();
  expect(mails).toHaveLength(1);
  expect(mails[0]).toContain('From: search402 <hello@example.org>');
  expect(mails[0]).toContain('To: ada@example.org');
});

test('a server that is busy is asked again; sending holds nobody up', async () => {
  const { url, mails } = await startMailServer(1);
  const clock = { ...realClock, sleep: () => Promise.resolve() };
  const mailer = smtpMailer(url, 'hello@example.org', clock, silentLog);
  mailer.send(mail);
  expect(mails).toHaveLength(0);
  await mailer.drain();
  expect(mails).toHaveLength(1);
});

test('a mail that cannot be sent is logged without its text, and given up', async () => {
  const logged: object[] = [];
  const log = { ...silentLog, error: (fields: object) => logged.push(fields) };
  const clock = { ...realClock, sleep: () => Promise.resolve() };
  const mailer = smtpMailer('smtp://127.0.0.1:1', 'hello@example.org', clock, log);
  mailer.send(mail);
  await mailer.drain();
  expect(logged).toMatchObject([{ subject: 'Confirm' }]);
  expect(JSON.stringify(logged)).not.toContain('token=x');
});

test('the outbox tells mails of one millisecond apart, the newest first', async () => {
  const clock = handClock();
  const ports = { clock, random: realRandom, onFailed: () => undefined };
  const store = await openStore(
    { location: ':memory:', migrations: [...PEOPLE_MIGRATIONS] },
    ports,
  );
  const mailer = outboxMailer(store, clock, realRandom, silentLog);
  const subjects = Array.from({ length: 9 }, (_, index) => `mail ${index}`);
  for (const subject of subjects) mailer.send({ ...mail, subject });
  await mailer.drain();
  const found = (await readOutbox(store)).map(({ subject }) => subject);
  expect(found).toEqual(subjects.reverse());
  await store.close();
});
