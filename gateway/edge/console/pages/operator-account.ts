import type { Request, Response, Router } from 'express';
import type { AccountView } from '../../../customers/accounts/manage.js';
import {
  describe,
  type Operation,
  type Operations,
} from '../../../customers/accounts/operations.js';
import { isPlan, PLANS, RATE_PER_SECOND_MAX } from '../../../ground/domain/plan.js';
import { unixMillis } from '../../../ground/domain/units.js';
import { idOf, numberOf, textOf } from '../form.js';
import { sayNotFound, type Guard } from '../guard.js';
import { html, type Html } from '../html.js';
import { facts, field, notice, number, sendPage, table, time, type Viewer } from '../page.js';
import type { ConsoleParts } from '../parts.js';
import { sayAndGo } from '../said.js';

/** Where an account is looked at and changed by the people who run the service. */
export const ACCOUNT_PATH = '/console/operator/accounts';

const DAY_MS = 24 * 3600 * 1000;
const CREDITS_MAX = 1_000_000_000;
const DAYS_MAX = 3650;
const RECORDS_SHOWN = 50;

/** A form that was filled in, or what is wrong with it. */
type Read = (request: Request, now: number, newReference: () => string) => Operation | string;

const FORMS: Readonly<Record<Operation['kind'], Read>> = {
  plan: (request, now) => {
    const plan = textOf(request, 'plan', 20);
    const ratePerSecond = numberOf(request, 'rate', { min: 1, max: RATE_PER_SECOND_MAX });
    const days = numberOf(request, 'days', { min: 1, max: DAYS_MAX });
    if (!isPlan(plan)) return 'Choose a valid plan.';
    if (Number.isNaN(ratePerSecond))
      return `The rate must be between 1 and ${RATE_PER_SECOND_MAX}.`;
    if (Number.isNaN(days)) return `A plan can last 1 to ${DAYS_MAX} days.`;
    if (days !== undefined && plan !== 'enterprise') {
      return 'Only the Enterprise plan can have an end date.';
    }
    const endsAt = days === undefined ? undefined : unixMillis(now + days * DAY_MS);
    return { kind: 'plan', plan, ratePerSecond, endsAt };
  },
  credits: (request, _now, newReference) => {
    const credits = numberOf(request, 'credits', { min: 1, max: CREDITS_MAX });
    if (credits === undefined || Number.isNaN(credits)) {
      return `Credits must be a whole number between 1 and ${number(CREDITS_MAX)}.`;
    }
    const reference = textOf(request, 'reference', 100);
    const isOwn = /^operator:[0-9a-f-]{36}$/.test(reference);
    return { kind: 'credits', credits, reference: isOwn ? reference : newReference() };
  },
  suspend: (request) => {
    const reason = textOf(request, 'reason', 200);
    return reason === '' ? 'Enter a reason for the suspension.' : { kind: 'suspend', reason };
  },
  resume: () => ({ kind: 'resume' }),
};

/** One account for the people who run the service. Each change is confirmed, then written down. */
export function operatorAccountPages(router: Router, parts: ConsoleParts, guard: Guard): void {
  const { accounts, operations, clock } = parts;

  const show = async (
    viewer: Viewer,
    response: Response,
    id: string,
    said: Html = html``,
    status = 200,
  ) => {
    const account = await accounts.read(id);
    if (!account) {
      sayNotFound(viewer, response);
      return;
    }
    const records = await operations.records(RECORDS_SHOWN, id);
    sendPage(response, {
      title: account.name,
      viewer,
      path: '/console/operator',
      status,
      body: html`${said} ${factsOf(account)} ${planForm(account)} ${creditsForm(account)}
        ${standingForm(account)}
        <h2>Changes</h2>
        ${recordTable(records)}
        <p><a href="/console/operator">All accounts</a></p>`,
    });
  };

  router.get(
    '/operator/accounts/:id',
    guard.operator((viewer, request, response) => show(viewer, response, idOf(request))),
  );
  for (const [kind, read] of Object.entries(FORMS)) {
    router.post(
      `/operator/accounts/:id/${kind}`,
      guard.operator(async (viewer, request, response) => {
        const id = idOf(request);
        const operation = read(request, clock.now(), () => operations.newReference());
        if (typeof operation === 'string') {
          return show(viewer, response, id, notice('bad', operation), 400);
        }
        if (textOf(request, 'confirmed', 3) !== 'yes') {
          confirm(viewer, response, await accounts.read(id), { operation, request });
          return;
        }
        return perform(operations, { viewer, response, id, operation });
      }),
    );
  }
}

async function perform(
  operations: Operations,
  change: { viewer: Viewer; response: Response; id: string; operation: Operation },
): Promise<void> {
  const { viewer, response, id, operation } = change;
  const outcome = await operations.perform(viewer.session.person, id, operation);
  if (outcome === 'not-found') sayNotFound(viewer, response);
  else {
    const text = `Done: ${describe(operation)}.`;
    sayAndGo(response, viewer, `${ACCOUNT_PATH}/${id}`, { kind: 'good', text });
  }
}

/** Asks once more, with what was filled in and the account's name. */
function confirm(
  viewer: Viewer,
  response: Response,
  account: AccountView | undefined,
  { operation, request }: { operation: Operation; request: Request },
): void {
  if (!account) {
    sayNotFound(viewer, response);
    return;
  }
  const kept = ['plan', 'rate', 'days', 'credits', 'reason'] as const;
  const hidden = (name: string, value: string) =>
    html`<input type="hidden" name="${name}" value="${value}" />`;
  sendPage(response, {
    title: 'Are you sure?',
    viewer,
    path: '/console/operator',
    body: html`<p><b>${account.name}</b>: ${describe(operation)}.</p>
      <form method="post" action="${ACCOUNT_PATH}/${account.id}/${operation.kind}" class="buttons">
        ${kept.map((name) => hidden(name, textOf(request, name, 200)))}
        ${operation.kind === 'credits' && hidden('reference', operation.reference)}
        ${hidden('confirmed', 'yes')}
        <button class="main">Yes, do it</button>
        <a class="button" href="${ACCOUNT_PATH}/${account.id}">No, go back</a>
      </form>`,
  });
}

function factsOf({ id, credits, createdAt, suspendedReason, suspendedAt }: AccountView): Html {
  return facts([
    ['Account id', html`<code>${id}</code>`],
    ['Since', time(createdAt)],
    ['Credits', `${number(credits.available)} left, ${number(credits.spent)} spent`],
    ['State', suspendedAt ? `suspended: ${suspendedReason ?? ''}` : 'active'],
  ]);
}

function planForm({ id, plan, ratePerSecond, planEndsAt }: AccountView): Html {
  return html`<form method="post" action="${ACCOUNT_PATH}/${id}/plan" class="panel row">
    <h2>Plan</h2>
    <p>
      ${PLANS[plan].name}, ${ratePerSecond} searches a
      second${planEndsAt && html`, until ${time(planEndsAt)}`}.
    </p>
    <div class="field">
      <label for="plan">Plan</label>
      <select id="plan" name="plan">
        ${Object.entries(PLANS).map(
          ([one, { name }]) =>
            html`<option value="${one}" ${one === plan ? html`selected` : ''}>${name}</option>`,
        )}
      </select>
    </div>
    ${field({ name: 'rate', label: 'Searches per second', type: 'number', isOptional: true, min: 1, max: RATE_PER_SECOND_MAX })}
    ${field({ name: 'days', label: 'Ends after days', type: 'number', isOptional: true, min: 1, max: DAYS_MAX })}
    <button>Change the plan</button>
  </form>`;
}

function creditsForm({ id }: AccountView): Html {
  return html`<form method="post" action="${ACCOUNT_PATH}/${id}/credits" class="panel row">
    <h2>Credits</h2>
    ${field({ name: 'credits', label: 'Credits to add', type: 'number', min: 1, max: CREDITS_MAX })}
    <button>Add credits</button>
  </form>`;
}

function standingForm({ id, suspendedAt }: AccountView): Html {
  return suspendedAt
    ? html`<form method="post" action="${ACCOUNT_PATH}/${id}/resume" class="panel">
        <h2>Suspension</h2>
        <button>Resume account</button>
      </form>`
    : html`<form method="post" action="${ACCOUNT_PATH}/${id}/suspend" class="panel row">
        <h2>Suspension</h2>
        ${field({ name: 'reason', label: 'Reason', hint: 'Shown to members', maxLength: 200 })}
        <button class="danger">Suspend account</button>
      </form>`;
}

/** What the people who run the service have changed. */
export function recordTable(records: Awaited<ReturnType<Operations['records']>>): Html {
  return table(
    'Operators’ changes',
    ['Time, UTC', 'By', 'Account', 'What'],
    records.map(({ at, by, accountId, what }) => [
      time(at),
      by,
      html`<a href="${ACCOUNT_PATH}/${accountId}"><code>${accountId}</code></a>`,
      what,
    ]),
    'No changes yet. Changes from the command line are not listed.',
  );
}
