import type { Response, Router } from 'express';
import type { AccountView, Receipt } from '../../../customers/accounts/manage.js';
import { isPlan, PLANS } from '../../../ground/domain/plan.js';
import { formatUsd, parseUsd, type UsdcUnits } from '../../../ground/domain/units.js';
import { textOf } from '../form.js';
import type { Guard } from '../guard.js';
import { html, type Html } from '../html.js';
import { field, notice, number, sendPage, table, time, type Viewer } from '../page.js';
import type { ConsoleParts } from '../parts.js';
import { sayAndGo } from '../said.js';
import { replyToTopUp } from '../top-up-reply.js';

const PATH = '/console/billing';
const RECEIPTS_SHOWN = 200;

/** Credits, top-ups, receipts and the plan, for Admins. */
export function billingPages(router: Router, parts: ConsoleParts, guard: Guard): void {
  const { accounts, topUps, clock } = parts;

  const show = async (viewer: Viewer, response: Response, said: Html = html``, status = 200) => {
    const { accountId } = viewer.membership;
    const account = await accounts.read(accountId);
    if (!account) throw new Error('a membership without an account');
    const receipts = await accounts.receipts(accountId, RECEIPTS_SHOWN);
    const { available, held, spent } = account.credits;
    sendPage(response, {
      title: 'Billing',
      viewer,
      path: PATH,
      status,
      scripts: topUps ? ['top-up.js'] : [],
      body: html`${said}
        ${account.suspendedAt && notice('bad', `Suspended: ${account.suspendedReason ?? ''}`)}
        <dl class="figures">
          <div>
            <dt>Credits left</dt>
            <dd>${number(available)}</dd>
          </div>
          <div>
            <dt>Held by running searches</dt>
            <dd>${number(held)}</dd>
          </div>
          <div>
            <dt>Spent</dt>
            <dd>${number(spent)}</dd>
          </div>
        </dl>
        ${topUps ? topUpForm(parts.priceUnits) : ''} ${planForm(account, clock.now())}
        ${receiptTable(receipts)}`,
    });
  };

  router.get(
    '/billing',
    guard.admin((viewer, _request, response) => show(viewer, response)),
  );

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

function topUpForm(priceUnits: UsdcUnits): Html {
  return html`<form id="top-up" class="panel row" method="post" action="${PATH}/top-up">
    <h2>Add credits</h2>
    <p>
      1,000 credits cost ${formatUsd((priceUnits * 1000n) as UsdcUnits)} USD, paid in USDC on Base.
      Credits don’t expire.
    </p>
    ${field({ name: 'amountUsd', label: 'Amount in USD', value: '1', maxLength: 20 })}
    <button class="main">Pay with your browser wallet</button>
    <p id="top-up-state" role="status" aria-live="polite"></p>
    <p class="hint">
      No browser wallet? Send <code>POST /account/credits</code> with a key and any x402 client. The
      official client pays at most 1 USD at once unless you set its <code>maxAmount</code> higher,
      so buy 1 USD or less, or raise it.
    </p>
  </form>`;
}

/** Whether a plan that was agreed for a time is over: nothing can be searched until there is another. */
function hasEnded({ planEndsAt }: AccountView, now: number): boolean {
  return planEndsAt !== undefined && planEndsAt.getTime() <= now;
}

function planForm(account: AccountView, now: number): Html {
  const { plan, ratePerSecond, planEndsAt } = account;
  const isOver = hasEnded(account, now);
  const others = (['payg', 'pro'] as const).filter((one) => one !== plan);
  return html`<section>
    <h2>Plan</h2>
    ${isOver && notice('bad', 'This plan has ended, so searches are refused. Change your plan.')}
    <p>
      <b>${PLANS[plan].name}</b>: up to ${ratePerSecond} searches a
      second${planEndsAt && html`, until ${time(planEndsAt)} UTC`}.
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

const CAUSES: Readonly<Record<string, string>> = {
  'sign-up': 'Free credits at sign-up',
  'top-up': 'Top-up in USDC',
  operator: 'Added by the operator',
  development: 'Development account',
};

function receiptTable(receipts: readonly Receipt[]): Html {
  return html`<section>
    <h2>Receipts</h2>
    ${table(
      'Credits added',
      ['Date', 'What', 'Credits', 'Reference'],
      receipts.map(({ at, cause, credits, reference }) => [
        time(at),
        CAUSES[cause] ?? cause,
        credits,
        html`<code>${reference}</code>`,
      ]),
      'No credits added yet.',
    )}
  </section>`;
}
