import type { Router } from 'express';
import { PLANS } from '../../../ground/domain/plan.js';
import type { Guard } from '../guard.js';
import { html, type Html } from '../html.js';
import { notice, sendPage, table } from '../page.js';
import type { ConsoleParts, SearchNodeFacts } from '../parts.js';
import { dataTable, sorted, tableView, type TableView } from '../ui/table.js';
import type { AccountView } from '../../../customers/accounts/manage.js';
import { ACCOUNT_PATH, recordTable } from './operator-account.js';
import { morning } from './operator-morning.js';

const PATH = '/console/operator';
const ACCOUNTS_SHOWN = 200;
const RECORDS_SHOWN = 50;

/** What the people who run the service see; each account leads to what they can change there. */
export function operatorPage(router: Router, parts: ConsoleParts, guard: Guard): void {
  const { accounts, searchNodes, operations, warnings } = parts;
  router.get(
    '/operator',
    guard.operator(async (viewer, request, response) => {
      const [list, records, facts] = await Promise.all([
        accounts.list({ from: 0, count: ACCOUNTS_SHOWN }),
        operations.records(RECORDS_SHOWN),
        morning(parts),
      ]);
      sendPage(response, {
        title: 'Operator',
        viewer,
        path: PATH,
        body: html`${warnings.map((warning) => notice('bad', warning))} ${facts}
          ${parts.watch ? html`<p><a href="/console/operator/watch">How fresh the index is</a></p>` : ''}
          ${searchNodes ? nodeTable(searchNodes()) : html``}
          <h2>Accounts</h2>
          ${accountTable(list, tableView(PATH, request.query))}
          <h2>Changes</h2>
          ${recordTable(records)}`,
      });
    }),
  );
}

function accountTable(list: readonly AccountView[], view: TableView): Html {
  const ordered = sorted(list, view, {
    name: ({ name }) => name.toLowerCase(),
    left: ({ credits }) => credits.available,
    spent: ({ credits }) => credits.spent,
    since: ({ createdAt }) => createdAt.getTime(),
  });
  return dataTable({
    caption: 'Accounts',
    view,
    columns: [
      { head: 'Account', sort: 'name' },
      { head: 'Plan' },
      { head: 'Per second' },
      { head: 'Credits left', sort: 'left' },
      { head: 'Spent', sort: 'spent' },
      { head: 'Since', sort: 'since' },
      { head: 'State' },
    ],
    rows: ordered.map((account) => [
      html`<a href="${ACCOUNT_PATH}/${account.id}">${account.name}</a>`,
      PLANS[account.plan].name,
      account.ratePerSecond,
      account.credits.available,
      account.credits.spent,
      account.createdAt.toISOString().slice(0, 10),
      account.suspendedAt ? `suspended: ${account.suspendedReason ?? ''}` : 'active',
    ]),
    empty: 'No accounts yet.',
  });
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
