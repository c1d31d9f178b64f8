import type { Router } from 'express';
import type { AccountView } from '../../../customers/accounts/manage.js';
import { keyState } from '../../../customers/keys/keys.js';
import type { UsageRow } from '../../../customers/usage/report.js';
import type { Percentiles } from '../../../customers/usage/percentiles.js';
import type { Guard } from '../guard.js';
import { html, type Html } from '../html.js';
import { notice, number, sendPage, type Viewer } from '../page.js';
import type { ConsoleParts } from '../parts.js';
import { counted, percent, usd } from '../ui/amount.js';
import { dialogLink, emptyState } from '../ui/ask.js';
import { sparkline } from '../ui/chart.js';
import { requestTable } from './request-table.js';
import { usdcUnits, type UsdcUnits } from '../../../ground/domain/units.js';

const DAY_MS = 24 * 3600 * 1000;
/** Days from which the rate of spending is taken. */
export const RATE_DAYS = 7;
const REQUESTS_SHOWN = 8;

/** Home: what to do next, how long the balance lasts, and what has just happened. */
export function homePage(router: Router, parts: ConsoleParts, guard: Guard): void {
  const { accounts, keys, usage, insight, clock } = parts;
  router.get(
    '/',
    guard.signedIn(async (viewer, _request, response) => {
      const now = clock.now();
      const { accountId } = viewer.membership;
      const week = { from: new Date(now - RATE_DAYS * DAY_MS), to: new Date(now + 1) };
      const [account, list, days, latest, failed, latency, hasToolClient] = await Promise.all([
        accounts.read(accountId),
        keys.list(accountId),
        usage.read(accountId, week, 'day'),
        usage.requests(accountId, { count: REQUESTS_SHOWN }),
        usage.requests(accountId, { count: REQUESTS_SHOWN, outcome: 'refused' }),
        insight.percentiles(week, accountId),
        insight.hasToolClient(accountId),
      ]);
      if (!account) throw new Error('a membership without an account');
      const steps = {
        hasKey: list.some((key) => keyState(key, now) === 'live'),
        hasSearched: account.credits.spent > 0 || latest.length > 0,
        hasToolClient,
      };
      const isNew = !steps.hasKey || !steps.hasSearched;
      sendPage(response, {
        title: greeting(viewer),
        viewer,
        path: '/console',
        ...(viewer.membership.role === 'admin' && { actions: topUpLink(isNew) }),
        body: html`${account.suspendedAt && notice('bad', `Suspended: ${account.suspendedReason ?? ''}`)}
          ${(isNew || !hasToolClient) && stepsOf(steps)}
          ${figuresOf({ account, days, latency, now, priceUnits: parts.priceUnits })}
          <h2>Latest searches</h2>
          ${requestTable('Latest searches', latest, { now, empty: nothingYet })}
          ${
            failed.length === 0
              ? ''
              : html`<h2>Last errors</h2>
                  ${requestTable('Last errors', failed, { now, empty: nothingYet })}`
          }`,
      });
    }),
  );
}

/** The server knows no time zone of its visitors, so the greeting fits every hour. */
function greeting({ session }: Viewer): string {
  return `Hello, ${session.person.name.split(' ')[0] ?? ''}`;
}

const topUpLink = (isNew: boolean) =>
  html`<a class="button ${isNew ? '' : 'main'}" href="/console/billing">Top up</a>`;

interface Steps {
  readonly hasKey: boolean;
  readonly hasSearched: boolean;
  readonly hasToolClient: boolean;
}

function stepsOf({ hasKey, hasSearched, hasToolClient }: Steps): Html {
  const steps = [
    {
      title: 'Create a key',
      text: 'A program sends it with each search.',
      isDone: hasKey,
      action: dialogLink('/console/keys/new', 'Create a key'),
    },
    {
      title: 'Search once',
      text: 'In the playground, or with the curl call beside your new key.',
      isDone: hasSearched,
      action: html`<a class="button" href="/console/playground">Open the playground</a>`,
    },
    {
      title: 'Connect your agent',
      text: 'Cursor, VS Code, Claude Code and others sign in by themselves.',
      isDone: hasToolClient,
      action: html`<a class="button" href="/console/connect">Connect a client</a>`,
    },
  ];
  const next = steps.findIndex(({ isDone }) => !isDone);
  return html`<ol class="first-steps" aria-label="First steps">
    ${steps.map(
      ({ title, text, isDone, action }, at) =>
        html`<li class="${isDone ? 'done' : at === next ? 'next' : ''}">
          <p class="sign" aria-hidden="true">${isDone ? '✓' : at + 1}</p>
          <h2>${title}${isDone ? html`<span class="hidden"> (done)</span>` : ''}</h2>
          <p>${isDone ? 'Done.' : at === next ? action : text}</p>
        </li>`,
    )}
  </ol>`;
}

function figuresOf(facts: {
  account: AccountView;
  days: readonly UsageRow[];
  latency: Percentiles | undefined;
  now: number;
  priceUnits: UsdcUnits;
}): Html {
  const { account, days, latency, now, priceUnits } = facts;
  const { available } = account.credits;
  const today = new Date(now).toISOString().slice(0, 10);
  const perDay = Array.from({ length: RATE_DAYS }, (_, at) => {
    const name = new Date(now - (RATE_DAYS - 1 - at) * DAY_MS).toISOString().slice(0, 10);
    return days.find((one) => one.name === name)?.searches ?? 0;
  });
  const sum = (pick: (row: UsageRow) => number) => days.reduce((all, row) => all + pick(row), 0);
  const spent = sum(({ credits }) => credits);
  const [searches, refused] = [sum((row) => row.searches), sum((row) => row.refused)];
  const todays = days.find(({ name }) => name === today)?.searches ?? 0;
  return html`<dl class="figures">
    <div>
      <dt>Balance</dt>
      <dd>
        ${number(available)}
        <small>${usd(usdcUnits(BigInt(available) * priceUnits))} in searches</small>
      </dd>
    </div>
    <div>
      <dt>Lasts</dt>
      <dd>${lasts(available, spent)}<small>at the rate of the last ${RATE_DAYS} days</small></dd>
    </div>
    <div>
      <dt>Searches today</dt>
      <dd>
        ${number(todays)} ${sparkline(perDay, `${number(searches)} searches in ${RATE_DAYS} days`)}
      </dd>
    </div>
    <div>
      <dt>Answered within, 95 of 100</dt>
      <dd>${latency ? `${number(latency.p95)} ms` : '–'}<small>last ${RATE_DAYS} days</small></dd>
    </div>
    <div>
      <dt>Refused, free</dt>
      <dd>${percent(refused, searches)}<small>${counted(refused, 'search', 'searches')}</small></dd>
    </div>
  </dl>`;
}

/** How long a balance lasts when it is spent as in the last days. */
export function lasts(available: number, spentInRateDays: number): string {
  if (available === 0) return '0 days';
  if (spentInRateDays === 0) return '–';
  const days = Math.floor((available * RATE_DAYS) / spentInRateDays);
  return days > 999 ? '> 999 days' : counted(days, 'day');
}

const nothingYet = emptyState(
  'No searches in the last seven days.',
  html`<a href="/console/playground">Search in the playground</a>`,
);
