import type { Kysely } from 'kysely';
import { sweepRecords } from '../../gateway/edge/oauth/records.js';
import type { OauthTables } from '../../gateway/edge/oauth/schema.js';
import { startOauth, type OauthUnderTest } from '../support/oauth.js';
import { realClock } from '../support/ports.js';
import type { AttackRow } from './row.js';

const TRIES = 112;
const KEPT_MAX = 60;
const HOUR_MS = 3_600_000;

/** Anonymous registrations, large and many, and what is left of them. */
export async function registrations(): Promise<readonly AttackRow[]> {
  const service = await startOauth();
  try {
    return [await large(service), await many(service)];
  } finally {
    await service.close();
  }
}

async function register(origin: string, padding: number, isChunked: boolean): Promise<number> {
  const text = JSON.stringify({
    redirect_uris: ['http://127.0.0.1:1/callback'],
    client_name: 'x'.repeat(padding),
  });
  const body = isChunked ? new Blob([text]).stream() : text;
  const response = await fetch(`${origin}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
    ...(isChunked && { duplex: 'half' }),
  });
  await response.text();
  return response.status;
}

async function large({ origin }: OauthUnderTest): Promise<AttackRow> {
  const sizes = [4_100, 51_000, 51_000];
  const statuses = [];
  for (const [index, size] of sizes.entries()) {
    statuses.push(await register(origin, size, index === 1));
  }
  return {
    attack: 'Registrations of clients of 51 KB',
    tries: sizes.length,
    gotThrough: statuses.filter((status) => status < 400).length,
    costToAttacker: 'one request each',
    costToUs: 'nothing kept',
  };
}

async function many({ origin, store }: OauthUnderTest): Promise<AttackRow> {
  let registered = 0;
  for (let index = 0; index < TRIES; index += 1) {
    if ((await register(origin, 3_000, false)) < 400) registered += 1;
  }
  const later = { ...realClock, now: () => (realClock.now() + HOUR_MS + 1000) as never };
  await sweepRecords(store, later);
  const { left } = await store.read((db: Kysely<OauthTables>) =>
    db
      .selectFrom('oauth_records')
      .select(({ fn }) => fn.countAll<bigint | number>().as('left'))
      .where('model', '=', 'Client')
      .executeTakeFirstOrThrow(),
  );
  return {
    attack: 'Registrations of many clients',
    tries: TRIES,
    gotThrough: Math.max(0, registered - KEPT_MAX) + Number(left),
    costToAttacker: 'one request each',
    costToUs: `${registered} rows of up to 4 KB for an hour`,
    note: `${Number(left)} left after an hour`,
  };
}
