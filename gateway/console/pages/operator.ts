import type { Router } from 'express';
import { PLANS } from '../../domain/plan.js';
import { formatUsd } from '../../domain/units.js';
import type { Guard } from '../guard.js';
import { html } from '../html.js';
import { sendPage, table } from '../page.js';
import type { ConsoleParts, OperatorFacts } from '../parts.js';

const ACCOUNTS_SHOWN = 200;

/** What the people who run the service see. Changes are made with `npm run admin`. */
export function operatorPage(router: Router, parts: ConsoleParts, guard: Guard): void {
  const { accounts, operator } = parts;
  router.get(
    '/operator',
    guard.operator(async (viewer, _request, response) => {
      const [list, facts] = await Promise.all([
        accounts.list({ from: 0, count: ACCOUNTS_SHOWN }),
        operator ? factsOf(operator) : html``,
      ]);
      sendPage(response, {
        title: 'Operator',
        viewer,
        path: '/console/operator',
        body: html`${facts}
          <h2>Accounts</h2>
          ${table(
            'Accounts',
            ['Account', 'Plan', 'Per second', 'Credits left', 'Spent', 'State'],
            list.map((account) => [
              html`${account.name}<br /><code>${account.id}</code>`,
              PLANS[account.plan].name,
              account.ratePerSecond,
              account.credits.available,
              account.credits.spent,
              account.suspendedAt ? `suspended: ${account.suspendedReason ?? ''}` : 'active',
            ]),
            'No accounts yet.',
          )}`,
      });
    }),
  );
}

async function factsOf(operator: OperatorFacts) {
  const [figures, revenue] = await Promise.all([operator.figures(), operator.revenue()]);
  return html`<dl class="figures">
      ${figures.map(
        ({ name, value }) =>
          html`<div>
            <dt>${name}</dt>
            <dd>${value}</dd>
          </div>`,
      )}
    </dl>
    <h2>Revenue</h2>
    ${table(
      'Revenue by day',
      ['Day, UTC', 'Paid searches, USDC', 'Top-ups, USDC'],
      revenue.map(({ day, payments, topUps }) => [day, formatUsd(payments), formatUsd(topUps)]),
      'No revenue yet.',
    )}`;
}
