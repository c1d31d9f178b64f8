import type { RequestHandler } from 'express';
import type { Accounts } from '../../customers/accounts/manage.js';
import type { Operations } from '../../customers/accounts/operations.js';
import type { OutboxMail } from '../../customers/people/mail.js';
import type { People } from '../../customers/people/people.js';
import type { Team } from '../../customers/people/team.js';
import type { Wallets } from '../../customers/people/wallets.js';
import type { RevenueDay } from '../../customers/credits/revenue.js';
import type { TopUps } from '../../customers/credits/top-up.js';
import type { UsageInsight } from '../../customers/usage/insight.js';
import type { UsageReport } from '../../customers/usage/report.js';
import type { Clock } from '../../ground/domain/ports.js';
import type { UsdcUnits } from '../../ground/domain/units.js';
import type { Keys } from '../../customers/keys/keys.js';

/** What the console is made of; `main` wires it. */
export interface ConsoleParts {
  readonly clock: Clock;
  readonly people: People;
  readonly team: Team;
  /** Absent where wallets cannot sign in. */
  readonly wallets?: Wallets;
  readonly keys: Keys;
  readonly accounts: Accounts;
  readonly usage: UsageReport;
  readonly insight: UsageInsight;
  /** Lets pages say what the action before them came to: `sayings` of `said.ts`. */
  readonly saying: RequestHandler;
  /** Absent where no payments are taken. */
  readonly topUps?: TopUps;
  /** Of one credit, in atomic USDC. */
  readonly priceUnits: UsdcUnits;
  /** Where searches go, for the examples: `https://search.example`. */
  readonly publicUrl: string;
  /** Addresses of the tool protocol: for accounts, and for payments. */
  readonly mcp: { readonly keyed: string; readonly open: string };
  /** Email addresses of the people who run this service. */
  readonly operatorEmails: readonly string[];
  readonly operator?: OperatorFacts;
  /** The search-cores among which searches are spread. */
  readonly searchNodes?: () => readonly SearchNodeFacts[];
  /** What the watch of the index says of itself; undefined where none ever ran. */
  readonly watch?: () => Promise<WatchFacts | undefined>;
  /** What the operator should change about this installation, a sentence each. */
  readonly warnings: readonly string[];
  readonly operations: Operations;
  /** Whether a mail server is set, so that mail reaches people. */
  readonly isMailSent: boolean;
  /** Present where mail is not sent but kept: anyone who reaches the console may read it. */
  readonly outbox?: () => Promise<readonly OutboxMail[]>;
}

/** A figure worth a line of its own. */
export interface Figure {
  readonly name: string;
  readonly value: string;
}

/** What the operator watches besides accounts. */
export interface OperatorFacts {
  /** Revenue of the last days, newest first, from both kinds of caller, in atomic USDC. */
  revenue(): Promise<readonly RevenueDay[]>;
  /** Payments in flight, relayer balances, the search index. */
  figures(): Promise<readonly Figure[]>;
}

/** How fresh the index is kept, and from what. Times in milliseconds since 1970. */
export interface WatchFacts {
  readonly atMs: number;
  readonly addresses: number;
  readonly indexPages: number;
  readonly looks: number;
  readonly looksPerSecond: number;
  readonly lastCommitWaitedMs: number;
  readonly sources: readonly {
    readonly name: string;
    readonly addresses: number;
    readonly indexed: number;
    readonly neverLookedAt: number;
    readonly overdue: number;
    /** Seconds since 1970; 0 for never. */
    readonly lastLook: number;
  }[];
  readonly outcomes: readonly {
    readonly outcome: string;
    readonly reason: string | null;
    readonly count: number;
    readonly example: string;
  }[];
  readonly turnedAway: Readonly<Record<string, number>>;
  /** What the operator has to mend, a sentence each. */
  readonly problems: readonly string[];
}

/** One search-core: whether it gets searches, and which commit of the index it serves. */
export interface SearchNodeFacts {
  readonly name: string;
  readonly isReady: boolean;
  /** Why it gets none, or serves an older commit. */
  readonly problem?: string;
  readonly pages?: number;
  readonly generation?: number;
  /** Commits that it is behind the node that is furthest. */
  readonly behind?: number;
}
