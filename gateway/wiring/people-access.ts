import { Router } from 'express';
import type { Access } from './access.js';
import { openAccounts } from '../customers/accounts/manage.js';
import { openOperations } from '../customers/accounts/operations.js';
import { outboxMailer, readOutbox, smtpMailer } from '../customers/people/mail.js';
import { prunePeople } from '../customers/people/prune.js';
import { openPeople, type People } from '../customers/people/people.js';
import { paymentsInFlight, revenueByDay } from '../customers/credits/revenue.js';
import { openTeam, type Team } from '../customers/people/team.js';
import { openWallets, type WalletProof } from '../customers/people/wallets.js';
import { prolongPack } from '../customers/packs/holders.js';
import { openTopUps, type TopUpPayments } from '../customers/credits/top-up.js';
import { usageRecorder } from '../customers/usage/recorder.js';
import { usageInsight } from '../customers/usage/insight.js';
import { usageReport } from '../customers/usage/report.js';
import { accountRoutes } from '../edge/console/account-routes.js';
import { sayingRoutes } from '../edge/console/said.js';
import { consoleRouter } from '../edge/console/console-router.js';
import type { Figure, OperatorFacts, SearchNodeFacts, WatchFacts } from '../edge/console/parts.js';
import type { Clock, Log, Random } from '../ground/domain/ports.js';
import type { UsdcUnits } from '../ground/domain/units.js';
import type { Sealing } from '../ground/store/sealing.js';
import { startHousekeeping } from './housekeeping.js';
import type { BodyLimits } from '../edge/http/body.js';
import type { SearchParts } from '../search/pipeline.js';
import type { Store } from '../ground/store/store.js';

interface PeopleSettings {
  /** Whether single requests can be looked at later; counts are kept either way. */
  readonly keepsRequests: boolean;
  /** Where the console and the searches are reached, without a path. */
  readonly publicUrl: string;
  /** Addresses of the tool protocol: for accounts, and for payments. */
  readonly mcp: { readonly keyed: string; readonly open: string };
  /** `smtp://…`; without it mail stays in the database's outbox. */
  readonly smtpUrl?: string;
  /** The sender of mails. */
  readonly mailFrom: string;
  /** What the operator should change about this installation. */
  readonly warnings: readonly string[];
  /** Whether the console shows the outbox: on a development start only. */
  readonly isOutboxShown: boolean;
  readonly operatorEmails: readonly string[];
  /** How wallets sign in; absent where they cannot. */
  readonly walletProof?: WalletProof;
  /** Of one credit, in atomic USDC. */
  readonly priceUnits: UsdcUnits;
  /** How long the key of a pack works after it was bought or topped up, in milliseconds. */
  readonly packLifetimeMs: number;
  readonly bodyLimits: BodyLimits;
}

/** People, teams, usage and the console, with the housekeeping that they need. */
export interface PeopleAccess {
  /** `/account…` and `/console…`, for the gateway's face. */
  readonly consoleAndAccount: Router;
  /** `/account…` alone, for the API's face. */
  readonly account: Router;
  /** How the pipeline counts the searches of accounts. */
  readonly meter: SearchParts<object>['meter'];
  /** Sessions and memberships, for whoever else lets people sign in. */
  readonly people: People;
  readonly team: Team;
  stop(): Promise<void>;
}

const FLUSH_EVERY_MS = 1000;
const PRUNE_EVERY_MS = 10 * 60 * 1000;
const RECOVER_EVERY_MS = 60 * 1000;

export async function openPeopleAccess(
  store: Store,
  access: Access,
  settings: PeopleSettings,
  ports: { clock: Clock; random: Random; log: Log; sealing: Sealing },
  money: {
    topUpPayments?: TopUpPayments;
    /** Lines for the operator's page, about what only `main` knows. */
    figures?: () => Promise<readonly Figure[]>;
    searchNodes?: () => readonly SearchNodeFacts[];
    watch?: () => Promise<WatchFacts | undefined>;
  } = {},
): Promise<PeopleAccess> {
  const { clock, random, log } = ports;
  const { publicUrl, smtpUrl, priceUnits, bodyLimits, walletProof } = settings;
  const mailer = smtpUrl
    ? smtpMailer(smtpUrl, settings.mailFrom, clock, log)
    : outboxMailer(store, clock, random, log);
  const team = openTeam(store, clock, random);
  const people = await openPeople({ store, ...ports, mailer, publicUrl, team });
  const wallets = walletProof && openWallets({ store, ...ports, mailer, publicUrl }, walletProof);
  const accounts = openAccounts(store, clock, access);
  const recorder = usageRecorder({ store, clock, log }, settings);
  const payments = money.topUpPayments;
  const topUps =
    payments &&
    openTopUps(store, clock, {
      ...{ payments, priceUnits },
      onBooked: (tx, accountId) =>
        prolongPack(tx, accountId, clock.now() + settings.packLifetimeMs),
    });
  const usage = usageReport(store);

  const common = { clock, accounts, usage, ...(topUps && { topUps }) };
  const { limits, authenticate, keys } = access;
  const account = accountRoutes({ ...common, limits, authenticate, bodyLimits });
  const pages = consoleRouter({
    ...common,
    people,
    team,
    ...(wallets && { wallets }),
    keys,
    insight: usageInsight(store),
    saying: sayingRoutes(ports.sealing, clock, { isHttps: publicUrl.startsWith('https:') }),
    priceUnits,
    publicUrl,
    mcp: settings.mcp,
    operatorEmails: settings.operatorEmails,
    operations: openOperations({ store, ...ports, accounts, credits: access.credits }),
    ...(money.figures && { operator: operatorFacts(store, clock, money.figures) }),
    ...(money.searchNodes && { searchNodes: money.searchNodes }),
    ...(money.watch && { watch: money.watch }),
    warnings: settings.warnings,
    isMailSent: smtpUrl !== undefined,
    ...(settings.isOutboxShown && !smtpUrl && { outbox: () => readOutbox(store) }),
  });
  const consoleAndAccount = Router().use(account).use('/console', pages);

  const housekeeping = startHousekeeping(clock, log);
  housekeeping.every(FLUSH_EVERY_MS, 'writing usage', () => recorder.flush());
  housekeeping.every(PRUNE_EVERY_MS, 'pruning requests', () => recorder.prune());
  housekeeping.every(PRUNE_EVERY_MS, 'pruning sessions', () => prunePeople(store, clock));
  if (topUps) {
    housekeeping.every(RECOVER_EVERY_MS, 'booking settled top-ups', () => topUps.recover());
  }
  return {
    consoleAndAccount,
    account,
    meter: meterWith(recorder, clock),
    people,
    team,
    stop: async () => {
      await housekeeping.stop();
      await recorder.flush();
      await mailer.drain();
    },
  };
}

const REVENUE_DAYS = 90;

function operatorFacts(
  store: Store,
  clock: Clock,
  figures: () => Promise<readonly Figure[]>,
): OperatorFacts {
  return {
    revenue: () => revenueByDay(store, clock.now(), REVENUE_DAYS),
    figures: async () => [
      { name: 'Payments in flight', value: String(await paymentsInFlight(store)) },
      ...(await figures()),
    ],
  };
}

function meterWith(
  recorder: ReturnType<typeof usageRecorder>,
  clock: Clock,
): SearchParts<object>['meter'] {
  return (caller, requestId) => {
    const startedMs = clock.monotonicMs();
    return (reply, request) => {
      const isOk = reply.kind === 'results';
      recorder.record({
        requestId,
        accountId: caller.account.id,
        key: caller.key,
        outcome: isOk ? 'ok' : reply.refusal.code,
        latencyMs: clock.monotonicMs() - startedMs,
        credits: isOk && !reply.isReplay && !reply.isFree ? 1 : 0,
        ...(request && { request }),
        ...(isOk && reply.resultCount !== undefined && { resultCount: reply.resultCount }),
      });
    };
  };
}
