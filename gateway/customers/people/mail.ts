import type { Kysely } from 'kysely';
import { createTransport } from 'nodemailer';
import type { Clock, Log, Random } from '../../ground/domain/ports.js';
import type { Store } from '../../ground/store/store.js';
import type { PeopleTables } from './schema.js';

/** A mail of plain text: it is read everywhere, and nothing in it can be injected. */
export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** Sends mail in the background, so that a reply's timing does not tell who got one. */
export interface Mailer {
  send(mail: Mail): void;
  /** Resolves when everything that was handed over has been sent or given up. */
  drain(): Promise<void>;
}

/** A mail that waits in the local outbox. */
export interface OutboxMail extends Mail {
  readonly id: string;
  /** Unix milliseconds. */
  readonly createdAt: number;
}

const ATTEMPTS_MAX = 3;
const RETRY_MS = 2000;
const PENDING_MAX = 200;
const OUTBOX_MAX = 200;

function backgroundMailer(deliver: (mail: Mail) => Promise<void>, log: Log): Mailer {
  const pending = new Set<Promise<void>>();
  return {
    send(mail) {
      if (pending.size >= PENDING_MAX) {
        log.error({ subject: mail.subject }, 'a mail was dropped: too many wait for the server');
        return;
      }
      const delivery = deliver(mail)
        .catch((error: unknown) => {
          log.error({ err: error, subject: mail.subject }, 'a mail could not be sent');
        })
        .finally(() => pending.delete(delivery));
      pending.add(delivery);
    },
    async drain() {
      await Promise.all(pending);
    },
  };
}

/** @param url `smtp://user:password@host:port` or `smtps://…`, as nodemailer reads it. */
export function smtpMailer(url: string, from: string, clock: Clock, log: Log): Mailer {
  const transport = createTransport(
    { url, connectionTimeout: 10_000, socketTimeout: 20_000 },
    { from },
  );
  return backgroundMailer(async ({ to, subject, text }) => {
    for (let attempt = 1; ; attempt++) {
      try {
        await transport.sendMail({ to, subject, text });
        return;
      } catch (error) {
        if (attempt === ATTEMPTS_MAX) throw error;
        await clock.sleep(RETRY_MS * attempt);
      }
    }
  }, log);
}

/**
 * Keeps mail in the database, where `readOutbox` finds the newest. Mails are a millisecond apart at
 * least, so that they are read in the order in which they were sent.
 */
export function outboxMailer(store: Store, clock: Clock, random: Random, log: Log): Mailer {
  let lastAtMs = 0;
  return backgroundMailer(({ to, subject, text }) => {
    const createdAtMs = Math.max(clock.now(), lastAtMs + 1);
    lastAtMs = createdAtMs;
    return store.write(async (tx: Kysely<PeopleTables>) => {
      await tx
        .insertInto('outbox')
        .values({
          id: random.uuid(),
          recipient: to,
          subject,
          body: text,
          created_at: createdAtMs,
        })
        .execute();
      const kept = tx
        .selectFrom('outbox')
        .select('id')
        .orderBy('created_at', 'desc')
        .orderBy('id')
        .limit(OUTBOX_MAX);
      await tx.deleteFrom('outbox').where('id', 'not in', kept).execute();
    });
  }, log);
}

/** The newest mails of the outbox, newest first. */
export async function readOutbox(store: Store): Promise<readonly OutboxMail[]> {
  const rows = await store.read((db: Kysely<PeopleTables>) =>
    db
      .selectFrom('outbox')
      .selectAll()
      .orderBy('created_at', 'desc')
      .orderBy('id')
      .limit(OUTBOX_MAX)
      .execute(),
  );
  return rows.map(({ id, recipient, subject, body, created_at }) => ({
    id,
    to: recipient,
    subject,
    text: body,
    createdAt: Number(created_at),
  }));
}
