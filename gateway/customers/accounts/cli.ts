import type { Kysely } from 'kysely';
import { isPlan, PLANS, RATE_PER_SECOND_MAX } from '../../ground/domain/plan.js';
import type { Clock, Random } from '../../ground/domain/ports.js';
import { unixMillis } from '../../ground/domain/units.js';
import { maskKey } from '../keys/format.js';
import type { Keys } from '../keys/keys.js';
import type { Store } from '../../ground/store/store.js';
import { createAccount } from './accounts.js';
import type { Credits } from '../credits/credits.js';
import type { Accounts, AccountView } from './manage.js';
import type { AccountTables } from '../credits/schema.js';

export const ADMIN_HELP = `npm run admin -- COMMAND

  accounts                                     every account, with its plan and credits
  account ID                                   one account, with its keys
  create NAME [--plan PLAN] [--credits N]      an account without people, for a program
  plan ID payg|pro|enterprise [--rate N] [--days N]   its plan; N searches a second and
                                               N days, where that was agreed for it
  credits ID N [--reference TEXT]              adds credits; once for each reference
  suspend ID REASON                            refuses its keys, and says why
  resume ID                                    lets them work again
  key ID NAME [--budget N] [--rate N] [--days N]   makes a key and shows it, once
  revoke ID KEY                                ends a key, by the id that "account" shows
  new-secrets                                  signs everybody out and draws new secrets, where
                                               the sealing key was lost; restart the gateways
  reseal                                       seals the secrets in the database with the first
                                               key of the sealing key file
  reconcile                                    compares balances with the movements behind them

A running gateway sees every change within a second.
`;

interface AdminParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly accounts: Accounts;
  readonly credits: Credits;
  readonly keys: Keys;
  /** Deletes the service's own secrets and the sessions under them: a start draws new ones. */
  forgetSecrets(): Promise<void>;
  /** Seals the service's own secrets with the first of the sealing keys. */
  resealSecrets(): Promise<void>;
}

/** A command that cannot be carried out; the message is for the operator. */
export class AdminProblem extends Error {}

const CREDITS_MAX = 1_000_000_000;
const DAY_MS = 24 * 3600 * 1000;
const DAYS_MAX = 3650;
const PAGE = 200;

/**
 * Carries out one command of the operator and returns what to print.
 *
 * @throws AdminProblem when there is no such command, account or key, or a value is out of bounds.
 */
export async function runAdmin(args: readonly string[], parts: AdminParts): Promise<string> {
  const { words, options } = readArguments(args);
  const [command, ...rest] = words;
  switch (command) {
    case 'accounts':
      return listAccounts(parts);
    case 'account':
      return showAccount(rest, parts);
    case 'create':
      return create(rest, options, parts);
    case 'plan':
      return setPlan(rest, options, parts);
    case 'credits':
      return addCredits(rest, options, parts);
    case 'suspend': {
      const [id = '', ...reason] = rest;
      if (reason.length === 0) throw new AdminProblem('Enter a reason for the suspension.');
      return say(await parts.accounts.suspend(id, reason.join(' ')), `${id} is suspended.`);
    }
    case 'resume':
      return say(await parts.accounts.resume(rest[0] ?? ''), `${rest[0] ?? ''} is active again.`);
    case 'key':
      return createKey(rest, options, parts);
    case 'revoke':
      return say(await parts.keys.revoke(rest[0] ?? '', rest[1] ?? ''), 'The key was revoked.');
    case 'new-secrets':
      await parts.forgetSecrets();
      return 'Everyone must sign in again. Restart every gateway that uses this database now.\n';
    case 'reseal':
      await parts.resealSecrets();
      return 'Everything is sealed with the first key. The other lines can go once every gateway has it.\n';
    case 'reconcile':
      return reconcile(parts);
    default:
      throw new AdminProblem(`Unknown command.\n\n${ADMIN_HELP}`);
  }
}

type Options = ReadonlyMap<string, string>;

function readArguments(args: readonly string[]): { words: string[]; options: Options } {
  const words: string[] = [];
  const options = new Map<string, string>();
  for (let index = 0; index < args.length; index++) {
    const word = args[index] ?? '';
    if (word.startsWith('--')) options.set(word.slice(2), args[++index] ?? '');
    else words.push(word);
  }
  return { words, options };
}

function say(outcome: string, done: string): string {
  if (outcome === 'not-found') throw new AdminProblem('No account or key has this id.');
  return `${done}\n`;
}

/** A whole number in bounds; undefined when the option was not given. */
function numberIn(text: string | undefined, name: string, max: number): number | undefined {
  if (text === undefined) return undefined;
  const value = /^[0-9]+$/.test(text) ? Number(text) : NaN;
  if (value >= 1 && value <= max) return value;
  throw new AdminProblem(`${name} must be a whole number between 1 and ${max}.`);
}

async function accountOf(id: string, { accounts }: AdminParts): Promise<AccountView> {
  const account = await accounts.read(id);
  if (!account) throw new AdminProblem('No account has this id.');
  return account;
}

function line(account: AccountView): string {
  const { id, name, plan, ratePerSecond, planEndsAt, credits } = account;
  const { suspendedReason, suspendedAt } = account;
  const until = planEndsAt ? ` until ${dayOf(planEndsAt)}` : '';
  const state = suspendedAt ? `  SUSPENDED: ${suspendedReason ?? ''}` : '';
  return `${id}  ${PLANS[plan].name}${until}, ${ratePerSecond}/s  ${credits.available} of ${credits.granted} credits left  ${name}${state}\n`;
}

/** The day of a date, UTC. */
function dayOf(date: Date): string {
  return date.toISOString().slice(0, 10);
}

async function listAccounts({ accounts }: AdminParts): Promise<string> {
  const lines: string[] = [];
  for (let from = 0; ; from += PAGE) {
    const page = await accounts.list({ from, count: PAGE });
    lines.push(...page.map(line));
    if (page.length < PAGE) break;
  }
  return lines.length === 0 ? 'No accounts yet.\n' : lines.join('');
}

async function showAccount([id = '']: readonly string[], parts: AdminParts): Promise<string> {
  const account = await accountOf(id, parts);
  const keys = (await parts.keys.list(id)).map((key) => {
    const state = key.revokedAt === undefined ? '' : '  revoked';
    return `  ${key.id}  ${maskKey(key.last4)}  ${key.name}${state}\n`;
  });
  return line(account) + (keys.length === 0 ? '  no keys\n' : keys.join(''));
}

async function create(
  words: readonly string[],
  options: Options,
  { store, clock, random }: AdminParts,
): Promise<string> {
  const name = words.join(' ').slice(0, 80);
  const plan = options.get('plan') ?? 'payg';
  if (name === '') throw new AdminProblem('Enter a name for the account.');
  if (!isPlan(plan)) throw new AdminProblem('The plan must be payg, pro or enterprise.');
  const credits = numberIn(options.get('credits'), '--credits', CREDITS_MAX) ?? 1000;
  const id = random.uuid();
  await store.write((tx: Kysely<AccountTables>) =>
    createAccount(tx, { id, name, plan, credits, cause: 'operator' }, clock.now()),
  );
  return `${id}\n`;
}

async function setPlan(
  [id = '', plan = '']: readonly string[],
  options: Options,
  { accounts, clock }: AdminParts,
): Promise<string> {
  if (!isPlan(plan)) throw new AdminProblem('The plan must be payg, pro or enterprise.');
  const ratePerSecond = numberIn(options.get('rate'), '--rate', RATE_PER_SECOND_MAX);
  const days = numberIn(options.get('days'), '--days', DAYS_MAX);
  if (days !== undefined && plan !== 'enterprise') {
    throw new AdminProblem('Only the Enterprise plan can have an end date.');
  }
  const endsAt = days === undefined ? undefined : unixMillis(clock.now() + days * DAY_MS);
  const perSecond = ratePerSecond ?? PLANS[plan].ratePerSecond;
  const until = endsAt === undefined ? '' : `, until ${dayOf(new Date(endsAt))}`;
  return say(
    await accounts.setPlan(id, plan, { ratePerSecond, endsAt }),
    `${id} has ${PLANS[plan].name}, ${perSecond} searches a second${until}.`,
  );
}

async function addCredits(
  [id = '', amount]: readonly string[],
  options: Options,
  parts: AdminParts,
): Promise<string> {
  const credits = numberIn(amount ?? '', 'The number of credits', CREDITS_MAX) ?? 0;
  await accountOf(id, parts);
  const reference = `operator:${options.get('reference') ?? parts.random.uuid()}`;
  const outcome = await parts.credits.grant(id, credits, 'operator', reference);
  if (outcome === 'foreign') {
    throw new AdminProblem('This reference was used for another account. Nothing was added.');
  }
  const { available } = (await accountOf(id, parts)).credits;
  const what =
    outcome === 'granted' ? `${credits} credits added` : 'these credits were already added';
  return `${what}; ${available} left.\n`;
}

async function createKey(
  [id = '', ...words]: readonly string[],
  options: Options,
  parts: AdminParts,
): Promise<string> {
  await accountOf(id, parts);
  const name = words.join(' ').slice(0, 80);
  if (name === '') throw new AdminProblem('Enter a name for the key.');
  const monthlyBudget = numberIn(options.get('budget'), '--budget', CREDITS_MAX);
  const ratePerSecond = numberIn(options.get('rate'), '--rate', RATE_PER_SECOND_MAX);
  const days = numberIn(options.get('days'), '--days', DAYS_MAX);
  const { key } = await parts.keys.create(id, null, {
    name,
    ...(monthlyBudget !== undefined && { monthlyBudget }),
    ...(ratePerSecond !== undefined && { ratePerSecond }),
    ...(days !== undefined && { expiresAt: unixMillis(parts.clock.now() + days * DAY_MS) }),
  });
  return `${key}\n`;
}

async function reconcile({ credits }: AdminParts): Promise<string> {
  const wrong = await credits.reconcile();
  if (wrong.length === 0) return 'All balances match their movements.\n';
  throw new AdminProblem(`These balances don’t match their movements: ${wrong.join(', ')}`);
}
