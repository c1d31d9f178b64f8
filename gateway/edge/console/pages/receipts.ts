import type { Router } from 'express';
import type { Receipt } from '../../../customers/accounts/manage.js';
import type { PaidTopUp } from '../../../customers/credits/top-up.js';
import { toCsv } from '../../../customers/usage/csv.js';
import { formatUsd } from '../../../ground/domain/units.js';
import { idOf } from '../form.js';
import { sayNotFound, type Guard } from '../guard.js';
import { html, type Html } from '../html.js';
import { facts, number, sendPage, time } from '../page.js';
import type { ConsoleParts } from '../parts.js';
import { usd } from '../ui/amount.js';
import { dataTable } from '../ui/table.js';

const PATH = '/console/billing/receipts';
const RECEIPTS_SHOWN = 200;

/** Credits that were added, with what was paid for them where something was. */
interface ShownReceipt extends Receipt {
  readonly paid: PaidTopUp | undefined;
  /** Where the transaction can be seen. */
  readonly link: string | undefined;
}

const CAUSES: Readonly<Record<string, string>> = {
  'sign-up': 'Free credits at sign-up',
  'top-up': 'Top-up in USDC',
  pack: 'Pack',
  operator: 'Added by the operator',
  development: 'Development account',
};

/** The newest receipts of an account. */
export async function readReceipts(
  { accounts, topUps, explorerUrl }: ConsoleParts,
  accountId: string,
): Promise<readonly ShownReceipt[]> {
  const [receipts, bought] = await Promise.all([
    accounts.receipts(accountId, RECEIPTS_SHOWN),
    topUps?.paid(accountId, RECEIPTS_SHOWN) ?? [],
  ]);
  const byReference = new Map(bought.map((one) => [`top-up:${one.requestId}`, one]));
  return receipts.map((receipt) => {
    const paid = byReference.get(receipt.reference);
    const hash = paid?.transaction;
    const link = explorerUrl && hash ? `${explorerUrl}/tx/${hash}` : undefined;
    return { ...receipt, paid, link };
  });
}

/** The table, each payment with its own page to print. */
export function receiptTable(receipts: readonly ShownReceipt[]): Html {
  return html`<section>
    <h2>Receipts</h2>
    ${dataTable({
      caption: 'Credits added',
      columns: [
        { head: 'Date' },
        { head: 'What' },
        { head: 'Credits', isNumber: true },
        { head: 'Paid', isNumber: true },
        { head: 'Transaction' },
        { head: 'Receipt' },
      ],
      rows: receipts.map((one) => [
        time(one.at),
        CAUSES[one.cause] ?? one.cause,
        one.credits,
        one.paid ? usd(one.paid.amount) : '–',
        transactionOf(one),
        one.paid ? html`<a href="${PATH}/${one.paid.requestId}">Print</a>` : '',
      ]),
      empty: 'No credits added yet.',
    })}
    <p class="downloads"><a href="${PATH}.csv">Receipts as CSV</a></p>
  </section>`;
}

function transactionOf({ paid, link }: ShownReceipt): Html | string {
  const hash = paid?.transaction;
  if (hash === undefined) return '–';
  const short = html`<code title="${hash}">${hash.slice(0, 10)}…${hash.slice(-4)}</code>`;
  return link === undefined ? short : html`<a href="${link}" rel="noreferrer">${short}</a>`;
}

/** One receipt to print, and all of them for a spreadsheet; for Admins. */
export function receiptPages(router: Router, parts: ConsoleParts, guard: Guard): void {
  router.get(
    '/billing/receipts.csv',
    guard.admin(async (viewer, _request, response) => {
      const receipts = await readReceipts(parts, viewer.membership.accountId);
      const rows = receipts.map(({ at, cause, credits, paid, reference }) => [
        at.toISOString(),
        CAUSES[cause] ?? cause,
        credits,
        paid ? formatUsd(paid.amount) : '',
        paid?.transaction ?? '',
        reference,
      ]);
      response.setHeader('Content-Disposition', 'attachment; filename="receipts.csv"');
      response
        .type('text/csv; charset=utf-8')
        .send(toCsv([['date', 'what', 'credits', 'usd', 'transaction', 'reference'], ...rows]));
    }),
  );

  router.get(
    '/billing/receipts/:id',
    guard.admin(async (viewer, request, response) => {
      const id = idOf(request);
      const receipts = await readReceipts(parts, viewer.membership.accountId);
      const found = receipts.find(({ paid }) => paid?.requestId === id);
      if (!found?.paid) {
        sayNotFound(viewer, response);
        return;
      }
      const { paid, link } = found;
      sendPage(response, {
        title: 'Receipt',
        viewer,
        path: '/console/billing',
        body: html`${facts([
            ['Seller', parts.publicUrl],
            ['Buyer', `${viewer.membership.accountName} (${viewer.session.person.email})`],
            ['Date, UTC', time(paid.at)],
            ['What', `${number(paid.credits)} search credits`],
            ['Paid', html`<b>${usd(paid.amount)}</b> in USDC`],
            ['Transaction', transactionLine(paid.transaction, link)],
            ['Reference', html`<code>${paid.requestId}</code>`],
          ])}
          <p class="buttons"><a class="button" href="/console/billing">Back to billing</a></p>`,
      });
    }),
  );
}

function transactionLine(hash: string | undefined, link: string | undefined): Html | string {
  if (hash === undefined) return 'unknown';
  const code = html`<code>${hash}</code>`;
  return link === undefined ? code : html`<a href="${link}" rel="noreferrer">${code}</a>`;
}
