import type { Response, Router } from 'express';
import type { AccountView } from '../../../customers/accounts/manage.js';
import { isPlan, PLANS } from '../../../ground/domain/plan.js';
import { parseUsd, usdcUnits, type UsdcUnits } from '../../../ground/domain/units.js';
import { textOf } from '../form.js';
import type { Guard } from '../guard.js';
import { html, type Html } from '../html.js';
import { field, notice, number, sendPage, time, type Viewer } from '../page.js';
import type { ConsoleParts } from '../parts.js';
import { sayAndGo } from '../said.js';
import { replyToTopUp } from '../top-up-reply.js';
import { counted, usd } from '../ui/amount.js';
import { lasts, RATE_DAYS } from './home.js';
import { readReceipts, receiptPages, receiptTable } from './receipts.js';

const PATH = '/console/billing';
const DAY_MS = 24 * 3600 * 1000;

/** The balance in searches and dollars, ways to pay, the plan and receipts, for Admins. */
export function billingPages(router: Router, parts: ConsoleParts, guard: Guard): void {
  const { accounts, topUps, usage, clock, priceUnits } = parts;

  const show = async (viewer: Viewer, response: Response, said: Html = html``, status = 200) => {
    const { accountId } = viewer.membership;
    const now = clock.now();
    const week = { from: new Date(now - RATE_DAYS * DAY_MS), to: new Date(now + 1) };
    const [account, receipts, days] = await Promise.all([
      accounts.read(accountId),
      readReceipts(parts, accountId),
      usage.read(accountId, week, 'day'),
    ]);
    if (!account) throw new Error('a membership without an account');
    const spent = days.reduce((sum, { credits }) => sum + credits, 0);
    sendPage(response, {
      title: 'Billing',
      viewer,
      path: PATH,
      status,
      scripts: topUps ? ['top-up.js'] : [],
      body: html`${said}
        ${account.suspendedAt && notice('bad', `Suspended: ${account.suspendedReason ?? ''}`)}
        ${balance(account, spent, priceUnits)}
        <div class="columns">${topUps && topUpForm(priceUnits)} ${waysToPay(parts)}</div>
        ${planPart(account, now)} ${receiptTable(receipts)}`,
    });
  };

  router.get(
    '/billing',
    guard.admin((viewer, _request, response) => show(viewer, response)),
  );
  receiptPages(router, parts, guard);

  router.post(
    '/billing/plan',
    guard.admin(async (viewer, request, response) => {
      const plan = textOf(request, 'plan', 20);
      if (!isPlan(plan)) return show(viewer, response, notice('bad', 'Choose a valid plan.'), 400);
      const { accountId } = viewer.membership;
      const account = await accounts.read(accountId);
      const isAgreed = account?.plan === 'enterprise' && !hasEnded(account, clock.now());
      if (plan === 'enterprise' || isAgreed) {
        const message = 'To get the Enterprise plan, contact the operator.';
        return show(viewer, response, notice('bad', message), 403);
      }
      await accounts.setPlan(accountId, plan);
      const text = `Your plan is now ${PLANS[plan].name}.`;
      sayAndGo(response, viewer, PATH, { kind: 'good', text });
    }),
  );

  if (!topUps) return;
  // Sent by the page's own script, which asks the browser's wallet for the payment in between.
  router.post(
    '/billing/top-up',
    guard.admin(async (viewer, request, response) => {
      const amount = parseUsd(textOf(request, 'amountUsd', 30));
      const order = topUps.order(viewer.membership.accountId, amount);
      await replyToTopUp(topUps, order, request, response);
    }),
  );
}

const worth = (credits: number, priceUnits: UsdcUnits): string =>
  usd(usdcUnits(BigInt(credits) * priceUnits));

function balance({ credits }: AccountView, spentInRateDays: number, priceUnits: UsdcUnits): Html {
  const { available, held, spent } = credits;
  return html`<dl class="figures">
    <div>
      <dt>Balance</dt>
      <dd>
        ${worth(available, priceUnits)}<small>${counted(available, 'search', 'searches')}</small>
      </dd>
    </div>
    <div>
      <dt>Lasts</dt>
      <dd>
        ${lasts(available, spentInRateDays)}<small>at the rate of the last ${RATE_DAYS} days</small>
      </dd>
    </div>
    <div>
      <dt>Held by running searches</dt>
      <dd>${number(held)}</dd>
    </div>
    <div>
      <dt>Spent</dt>
      <dd>${worth(spent, priceUnits)}<small>${counted(spent, 'search', 'searches')}</small></dd>
    </div>
  </dl>`;
}

function topUpForm(priceUnits: UsdcUnits): Html {
  const amounts = ['1', '5', '20'].map((dollars) => {
    const searches = Number((parseUsd(dollars) ?? 0n) / priceUnits);
    return html`<li>$${dollars} buys ${counted(searches, 'search', 'searches')}</li>`;
  });
  return html`<form id="top-up" class="panel" method="post" action="${PATH}/top-up">
    <h2>Add credits</h2>
    ${field({ name: 'amountUsd', label: 'Amount in USD', value: '1', maxLength: 20, hint: 'Paid in USDC on Base. Credits don’t expire.' })}
    <ul class="hint">
      ${amounts}
    </ul>
    <button class="main">Pay with your browser wallet</button>
    <p id="top-up-state" role="status" aria-live="polite"></p>
    <noscript><p class="notice bad">Paying with a wallet needs JavaScript.</p></noscript>
  </form>`;
}

/** The other ways, side by side with the form. */
function waysToPay({ priceUnits, publicUrl }: ConsoleParts): Html {
  return html`<section class="panel">
    <h2>Other ways to pay</h2>
    <p>
      <b>From a program.</b> Send <code>POST /account/credits</code> with a key and any x402 client.
      The official client pays at most 1 USD at once unless you raise its <code>maxAmount</code>.
    </p>
    <p>
      <b>A pack, without an account.</b> One payment to <code>POST ${publicUrl}/packs</code> buys a
      key with searches on it.
    </p>
    <p>
      <b>Each search by itself.</b> ${usd(priceUnits)} with each request, without a key. Good for
      agents with a wallet of their own.
    </p>
    <p><a href="/docs/paying">Read how each one works.</a></p>
  </section>`;
}

/** Whether a plan that was agreed for a time is over: nothing can be searched until there is another. */
function hasEnded({ planEndsAt }: AccountView, now: number): boolean {
  return planEndsAt !== undefined && planEndsAt.getTime() <= now;
}

function planPart(account: AccountView, now: number): Html {
  const { plan, ratePerSecond, planEndsAt } = account;
  const isOver = hasEnded(account, now);
  const others = (['payg', 'pro'] as const).filter((one) => one !== plan);
  return html`<section>
    <h2>Plan</h2>
    ${isOver && notice('bad', 'This plan has ended, so searches are refused. Change your plan.')}
    <p>
      <b>${PLANS[plan].name}</b>: up to ${ratePerSecond} searches a
      second${planEndsAt && html`, until ${time(planEndsAt)} UTC`}. Every plan pays the same for a
      search.
    </p>
    ${
      plan === 'enterprise' && !isOver
        ? html`<p>To change it, contact the operator.</p>`
        : html`<div class="buttons">${others.map(planButton)}</div>`
    }
  </section>`;
}

function planButton(plan: 'payg' | 'pro'): Html {
  const { name, ratePerSecond } = PLANS[plan];
  return html`<form method="post" action="${PATH}/plan">
    <input type="hidden" name="plan" value="${plan}" />
    <button>Change to ${name} (${ratePerSecond} searches a second)</button>
  </form>`;
}
