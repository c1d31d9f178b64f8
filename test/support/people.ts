import type { Kysely } from 'kysely';
import { ACCOUNT_MIGRATIONS } from '../../gateway/customers/credits/schema.js';
import { outboxMailer, readOutbox, type Mailer } from '../../gateway/customers/people/mail.js';
import { openPeople, type People, type Visitor } from '../../gateway/customers/people/people.js';
import { PEOPLE_MIGRATIONS, type PeopleTables } from '../../gateway/customers/people/schema.js';
import { openTeam, type Team } from '../../gateway/customers/people/team.js';
import { KEY_MIGRATIONS } from '../../gateway/customers/keys/schema.js';
import { openStore } from '../../gateway/ground/store/open.js';
import type { Store } from '../../gateway/ground/store/store.js';
import { realClock, realRandom, silentLog } from './ports.js';
import { testSealing } from './sealing.js';

/** People on a database of their own, with the mails that they get. */
export interface PeopleWorld {
  readonly store: Store;
  readonly people: People;
  readonly team: Team;
  readonly mailer: Mailer;
  /** The newest mail to an address. */
  mailTo(address: string): Promise<{ subject: string; text: string }>;
  /** The `name` parameter of the link in the newest mail to an address. */
  linkOf(address: string, name: string): Promise<string>;
  close(): Promise<void>;
}

export async function openPeopleWorld(location = ':memory:'): Promise<PeopleWorld> {
  const store = await openStore(
    { location, migrations: [...KEY_MIGRATIONS, ...ACCOUNT_MIGRATIONS, ...PEOPLE_MIGRATIONS] },
    { clock: realClock, random: realRandom, onFailed: () => undefined },
  );
  const ports = {
    store,
    clock: realClock,
    random: realRandom,
    log: silentLog,
    sealing: testSealing,
  };
  const mailer = outboxMailer(store, realClock, realRandom, silentLog);
  const team = openTeam(store, realClock, realRandom);
  const people = await openPeople({ ...ports, mailer, team, publicUrl: 'http://127.0.0.1:4020' });
  const mailTo = async (address: string) => {
    await mailer.drain();
    const mail = (await readOutbox(store)).find(({ to }) => to === address);
    if (!mail) throw new Error(`no mail to ${address}`);
    return mail;
  };
  return {
    store,
    people,
    team,
    mailer,
    mailTo,
    linkOf: async (address, name) => {
      const { text } = await mailTo(address);
      const value = new URLSearchParams(/\?(\S+)/.exec(text)?.[1]).get(name);
      if (value === null) throw new Error(`no ${name} in the mail to ${address}`);
      return value;
    },
    close: () => store.close(),
  };
}

/** A browser with the cookies that it was given. */
export function browser(cookies: readonly string[] = []): Visitor {
  const jar = cookies.map((cookie) => cookie.split(';')[0]).filter((pair) => !pair?.endsWith('='));
  return {
    cookie: jar.length > 0 ? jar.join('; ') : undefined,
    userAgent: 'test browser',
    address: '192.0.2.1',
  };
}

export const PASSWORD = 'correct horse battery';

/** A person who signed up, confirmed the address, and is signed in. */
export async function givenPerson(world: PeopleWorld, email: string): Promise<Visitor> {
  const name = email.split('@')[0] ?? '';
  await world.people.signUp({ name, email }, browser());
  const token = await world.linkOf(email, 'token');
  const verified = await world.people.verify(token, { password: PASSWORD }, browser());
  if (verified.kind !== 'done') throw new Error(verified.message);
  return browser(verified.cookies);
}

export async function personId(store: Store, email: string): Promise<string> {
  const { id } = await store.read((db: Kysely<PeopleTables>) =>
    db.selectFrom('people').select('id').where('email', '=', email).executeTakeFirstOrThrow(),
  );
  return id;
}
