import type { Router } from 'express';
import { PLANS } from '../../../ground/domain/plan.js';
import { formatUsd } from '../../../ground/domain/units.js';
import type { Guard } from '../guard.js';
import { html } from '../html.js';
import { notice, sendPage, table } from '../page.js';
import type { ConsoleParts, OperatorFacts, SearchNodeFacts } from '../parts.js';
import { ACCOUNT_PATH, recordTable } from './operator-account.js';

const ACCOUNTS_SHOWN = 200;
const RECORDS_SHOWN = 50;

/** What the people who run the service see; each account leads to what they can change there. */
export function operatorPage(router: Router, parts: ConsoleParts, guard: Guard): void {
  const { accounts, operator, searchNodes, operations, warnings } = parts;
  router.get(
    '/operator',
    guard.operator(async (viewer, _request, response) => {
      const [list, records, facts] = await Promise.all([
        accounts.list({ from: 0, count: ACCOUNTS_SHOWN }),
        operations.records(RECORDS_SHOWN),
        operator ? factsOf(operator) : html``,
      ]);
      sendPage(response, {
        title: 'Operator',
        viewer,
        path: '/console/operator',
        body: html`${warnings.map((warning) => notice('bad', warning))} ${facts}
          ${parts.watch ? html`<p><a href="/console/operator/watch">How fresh the index is</a></p>` : ''}
          ${searchNodes ? nodeTable(searchNodes()) : html``}
          <h2>Accounts</h2>
          ${table(
            'Accounts',
            ['Account', 'Plan', 'Per second', 'Credits left', 'Spent', 'State'],
            list.map((account) => [
              html`<a href="${ACCOUNT_PATH}/${account.id}">${account.name}</a><br /><code
                  >${account.id}</code
                >`,
              PLANS[account.plan].name,
              account.ratePerSecond,
              account.credits.available,
              account.credits.spent,
              account.suspendedAt ? `suspended: ${account.suspendedReason ?? ''}` : 'active',
            ]),
            'No accounts yet.',
          )}
          <h2>Changes</h2>
          ${recordTable(records)}`,
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
      ['Day, UTC', 'Paid searches, USDC', 'Top-ups, USDC', 'Packs, USDC'],
      revenue.map(({ day, payments, topUps, packs }) => [
        day,
        formatUsd(payments),
        formatUsd(topUps),
        formatUsd(packs),
      ]),
      'No revenue yet.',
    )}`;
}

/** Commits are numbered: nodes of one index with the same number find the same pages. */
function nodeTable(nodes: readonly SearchNodeFacts[]) {
  return html`<h2>Search</h2>
    ${table(
      'Search-cores',
      ['search-core', 'State', 'Pages', 'Commit', 'Behind'],
      nodes.map(({ name, isReady, problem, pages, generation, behind }) => [
        html`<code>${name}</code>`,
        `${isReady ? 'serving' : 'left out'}${problem === undefined ? '' : `: ${problem}`}`,
        pages ?? '–',
        generation ?? '–',
        behind === undefined ? '–' : behind === 0 ? 'no' : `${behind}`,
      ]),
      'No search-core is known.',
    )}`;
}
