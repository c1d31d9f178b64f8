import type { QueryCount } from '../../../customers/usage/insight.js';
import { usdcUnits, type UsdcUnits } from '../../../ground/domain/units.js';
import { html, type Html } from '../html.js';
import { number } from '../page.js';
import type { ConsoleParts, MoneyOn, OperatorFacts } from '../parts.js';
import { counted, percent, signedUsd, usd } from '../ui/amount.js';
import { barChart } from '../ui/chart.js';
import { dataTable } from '../ui/table.js';
import { ago } from '../ui/when.js';

const DAY_MS = 24 * 3600 * 1000;
const DAYS = 30;
const QUERIES_SHOWN = 20;

/** What the operator reads first: yesterday's margin, what is owed, what was searched in vain. */
export async function morning(parts: ConsoleParts): Promise<Html> {
  const { operator, insight, clock, priceUnits } = parts;
  const now = clock.now();
  const today = Math.floor(now / DAY_MS);
  const from = new Date((today - DAYS + 1) * DAY_MS);
  const range = { from, to: new Date(now + 1) };
  const [latency, days, refusals, top, inVain, money] = await Promise.all([
    insight.percentiles(range),
    insight.daysOfAll(range),
    insight.refusals(range),
    insight.topQueries('all', QUERIES_SHOWN),
    insight.topQueries('without results', QUERIES_SHOWN),
    operator && moneyPart(operator, { from, today, now, priceUnits }),
  ]);
  const dayNumbers = Array.from({ length: DAYS }, (_, at) => today - DAYS + 1 + at);
  const on = new Map(days.map((one) => [one.day, one]));
  const sum = (pick: (one: (typeof days)[number]) => number) =>
    days.reduce((all, one) => all + pick(one), 0);
  const [answered, refused] = [sum((one) => one.answered), sum((one) => one.refused)];
  return html`${money}
    <h2>Searches of accounts</h2>
    <dl class="figures">
      ${figure('Answered', number(answered), `in ${DAYS} days`)}
      ${figure('Refused', percent(refused, answered + refused), counted(refused, 'search', 'searches'))}
      ${figure('p50', latency ? `≤ ${number(latency.p50)} ms` : '–')}
      ${figure('p95', latency ? `≤ ${number(latency.p95)} ms` : '–')}
      ${figure('p99', latency ? `≤ ${number(latency.p99)} ms` : '–')}
    </dl>
    ${barChart({
      title: 'Searches of accounts by day, UTC',
      spans: dayNumbers.map(dayName),
      series: [
        { name: 'answered', values: dayNumbers.map((day) => on.get(day)?.answered ?? 0) },
        { name: 'refused', values: dayNumbers.map((day) => on.get(day)?.refused ?? 0) },
      ],
      isLastOpen: true,
    })}
    <div class="columns">
      <section>
        <h2>Queries without results</h2>
        ${queryTable('Queries without results', inVain, now, 'Every query of the last seven days found a page.')}
        <p class="hint">
          To answer one, add pages about it to the index:
          <code>npm run index -- crawl https://…</code>
        </p>
      </section>
      <section>
        <h2>Top queries</h2>
        ${queryTable('Top queries', top, now, 'No searches in the last seven days.')}
      </section>
    </div>
    <h2>Refusals by code</h2>
    ${dataTable({
      caption: 'Refusals by code',
      columns: [{ head: 'Code' }, { head: 'Searches' }, { head: 'Share', isNumber: true }],
      rows: refusals.map(({ code, searches }) => [code, searches, percent(searches, refused)]),
      empty: `Nothing was refused in ${DAYS} days.`,
    })}`;
}

const dayName = (day: number) => new Date(day * DAY_MS).toISOString().slice(0, 10);

function figure(name: string, value: Html | string, note?: Html | string): Html {
  return html`<div>
    <dt>${name}</dt>
    <dd>${value}${note && html`<small>${note}</small>`}</dd>
  </div>`;
}

const revenueOf = ({ single, credits, channels }: MoneyOn) => single + credits + channels;

async function moneyPart(
  operator: OperatorFacts,
  {
    from,
    today,
    now,
    priceUnits,
  }: { from: Date; today: number; now: number; priceUnits: UsdcUnits },
): Promise<Html> {
  const [days, owed, signUps, index, figures] = await Promise.all([
    operator.money(from),
    operator.owed(),
    operator.signUps(from),
    operator.index(),
    operator.figures(),
  ]);
  const on = new Map(days.map((one) => [one.day, one]));
  const dayNumbers = Array.from({ length: DAYS }, (_, at) => today - DAYS + 1 + at);
  const owedUnits = usdcUnits(BigInt(owed.onAccounts + owed.onPacks) * priceUnits);
  const runway = operator.runwayHours();
  const newAccounts = [...signUps.values()].reduce((sum, one) => sum + one, 0);
  return html`<dl class="figures">
      ${marginFigure('Today, so far', on.get(today))}
      ${marginFigure('Yesterday', on.get(today - 1))}
      ${figure('Owed in credits', usd(owedUnits), `${counted(owed.onAccounts, 'search', 'searches')} on accounts, ${number(owed.onPacks)} on packs`)}
      ${figure('Relayers’ runway', runwayText(runway), 'at the rate of the last hour')}
      ${figure('New accounts', number(newAccounts), `in ${DAYS} days, ${number(signUps.get(today) ?? 0)} today`)}
      ${figure('Index', index ? counted(index.pages, 'page') : 'unknown', index?.changedAt && html`changed ${ago(index.changedAt, now)}`)}
    </dl>
    ${barChart({
      title: 'Revenue by day and way of paying, UTC',
      spans: dayNumbers.map(dayName),
      series: [
        { name: 'single payments', values: dayNumbers.map((day) => dollars(on.get(day)?.single)) },
        {
          name: 'credits and packs',
          values: dayNumbers.map((day) => dollars(on.get(day)?.credits)),
        },
        { name: 'channels', values: dayNumbers.map((day) => dollars(on.get(day)?.channels)) },
      ],
      isLastOpen: true,
      format: (value) => `$${value.toLocaleString('en-US', { maximumFractionDigits: 6 })}`,
    })}
    ${dataTable({
      caption: 'Margin by day',
      columns: [
        'Day, UTC',
        'Single payments',
        'Credits and packs',
        'Channels',
        'Gas',
        'Margin',
      ].map((head, at) => ({ head, isNumber: at > 0 })),
      rows: [...days]
        .reverse()
        .map((one) => [
          dayName(one.day),
          usd(usdcUnits(one.single)),
          usd(usdcUnits(one.credits)),
          usd(usdcUnits(one.channels)),
          usd(one.gas),
          signedUsd(revenueOf(one) - one.gas),
        ]),
      empty: 'No revenue yet.',
    })}
    <p class="hint">
      Gas in dollars is at ${operator.ethUsd} USD for 1 ETH (the setting ETH_USD), L1 fee included.
    </p>
    <h2>Parts</h2>
    <dl class="figures">
      ${figures.map(({ name, value }) => figure(name, html`<small>${value}</small>`))}
    </dl>`;
}

/** For drawing only: bars need no more than a few digits. */
const dollars = (units = 0n): number => Number(units) / 1e6;

function marginFigure(name: string, money: MoneyOn | undefined): Html {
  if (!money) return figure(name, '$0.00', 'nothing earned, nothing spent');
  const revenue = revenueOf(money);
  const margin = revenue - money.gas;
  const share = revenue === 0n ? '' : ` (${Number((100n * margin) / revenue)} %)`;
  const terms = `${usd(usdcUnits(revenue))} − ${usd(money.gas)} gas${share}`;
  return figure(name, signedUsd(margin), terms);
}

function runwayText(hours: number | undefined): string {
  if (hours === undefined) return '–';
  if (!Number.isFinite(hours)) return 'no use yet';
  return hours < 48 ? counted(Math.floor(hours), 'hour') : counted(Math.floor(hours / 24), 'day');
}

function queryTable(
  caption: string,
  queries: readonly QueryCount[],
  now: number,
  empty: string,
): Html {
  return dataTable({
    caption,
    columns: [{ head: 'Query' }, { head: 'Searches' }, { head: 'Last' }],
    rows: queries.map(({ query, searches, lastAt }) => [
      html`<a class="clip" href="/console/playground?q=${encodeURIComponent(query)}">${query}</a>`,
      searches,
      ago(lastAt, now),
    ]),
    empty,
  });
}
