import { html, type Html } from '../html.js';
import { roundSteps } from './axis.js';

/** One kind of thing that is counted in each span of a chart. */
interface Series {
  readonly name: string;
  /** One for each span; not negative. */
  readonly values: readonly number[];
}

export interface ChartInput {
  /** What is shown, with its unit: `Searches by day, UTC`. */
  readonly title: string;
  /** The spans from left to right, as people read them: `2026-11-21`. */
  readonly spans: readonly string[];
  /** Stacked from the bottom up; at most three. */
  readonly series: readonly Series[];
  /** The sum of each span in the period before, drawn as a mark across its bar. */
  readonly before?: readonly number[];
  /** Whether the last span is still running: its bar is hatched. */
  readonly isLastOpen?: boolean;
  /** How a figure is written; as a whole number unless said. */
  readonly format?: (value: number) => string;
}

const LABELS_MAX = 5;

/**
 * Bars with a y-axis of round steps, as SVG of its own. `chart` in the page's script adds a read-out
 * for pointer and keyboard; a table says the same to whoever does not see it.
 */
export function barChart(input: ChartInput): Html {
  const { title, spans, series, before = [], isLastOpen = false } = input;
  const format = input.format ?? ((value: number) => value.toLocaleString('en-US'));
  const sums = spans.map((_, at) => series.reduce((sum, { values }) => sum + (values[at] ?? 0), 0));
  const steps = roundSteps(Math.max(...sums, ...before, 0));
  const top = steps.at(-1) ?? 1;
  const width = 100 / Math.max(1, spans.length);
  const share = (value: number) => (100 * value) / top;

  const bar = (span: string, at: number): Html => {
    let floor = 100;
    const isOpen = isLastOpen && at === spans.length - 1;
    const parts = series.map(({ values }, index) => {
      const height = share(values[at] ?? 0);
      floor -= height;
      return html`<rect
        class="s${index + 1}${isOpen ? ' open' : ''}"
        x="${round(at * width + width * 0.1)}%"
        y="${round(floor)}%"
        width="${round(width * 0.8)}%"
        height="${round(height)}%"
      />`;
    });
    const then = before[at];
    const y = then === undefined ? undefined : round(100 - share(then));
    return html`<g data-says="${saysOf(span, at, { series, before, isOpen, format })}">
      <rect class="hit" x="${round(at * width)}%" y="0" width="${round(width)}%" height="100%" />
      ${parts}
      ${
        y === undefined
          ? ''
          : html`<line
              class="before"
              x1="${round(at * width)}%"
              x2="${round((at + 1) * width)}%"
              y1="${y}%"
              y2="${y}%"
            />`
      }
    </g>`;
  };

  return html`<figure class="chart">
    <figcaption>${title}${legend(series, before.length > 0)}</figcaption>
    <div class="plot">
      <svg class="y" aria-hidden="true">
        ${steps.map(
          (step) => html`<text x="100%" y="${round(100 - share(step))}%">${format(step)}</text>`,
        )}
      </svg>
      <svg class="bars" role="img" aria-label="${title}. Highest: ${format(Math.max(...sums, 0))}">
        ${steps.map((step) => {
          const y = `${round(100 - share(step))}%`;
          return html`<line class="grid" x1="0" x2="100%" y1="${y}" y2="${y}" />`;
        })}
        ${spans.map(bar)}
      </svg>
      <svg class="x" aria-hidden="true">${xLabels(spans, width)}</svg>
    </div>
    <output class="readout" hidden></output>
    ${asTable(input, format)}
  </figure>`;
}

/** What a bar stands for, in words. */
function saysOf(
  span: string,
  at: number,
  chart: Pick<Required<ChartInput>, 'series' | 'before' | 'format'> & { isOpen: boolean },
): string {
  const parts = chart.series.map(({ name, values }) => `${chart.format(values[at] ?? 0)} ${name}`);
  const then = chart.before[at];
  const tail = then === undefined ? '' : `; ${chart.format(then)} in the period before`;
  return `${shortSpan(span)}${chart.isOpen ? ' so far' : ''}: ${parts.join(', ')}${tail}`;
}

function legend(series: readonly Series[], hasBefore: boolean): Html {
  if (series.length < 2 && !hasBefore) return html``;
  return html`<span class="legend">
    ${series.map(({ name }, index) => html`<span class="key s${index + 1}">${name}</span>`)}
    ${hasBefore ? html`<span class="key before">period before</span>` : ''}
  </span>`;
}

function xLabels(spans: readonly string[], width: number): readonly Html[] {
  const every = Math.max(1, Math.ceil(spans.length / LABELS_MAX));
  return spans.flatMap((span, at) => {
    if ((spans.length - 1 - at) % every !== 0) return [];
    const x = at === spans.length - 1 ? 100 : round((at + 0.5) * width);
    const anchor = at === spans.length - 1 ? 'end' : x < 6 ? 'start' : 'middle';
    const text = span.length > 10 ? span.slice(11, 16) : span.slice(5);
    return [html`<text x="${x}%" y="14" text-anchor="${anchor}">${text}</text>`];
  });
}

/** The figures as a table, folded: for screen readers, and for whoever wants the numbers. */
function asTable(
  { title, spans, series, before }: ChartInput,
  format: (value: number) => string,
): Html {
  const rows = spans.flatMap((span, at) => {
    const values = series.map((one) => one.values[at] ?? 0);
    const then = before?.[at];
    const isEmpty = values.every((value) => value === 0) && (then ?? 0) === 0;
    if (isEmpty) return [];
    return [
      html`<tr>
        <th scope="row">${shortSpan(span)}</th>
        ${[...values, ...(then === undefined ? [] : [then])].map(
          (value) => html`<td class="number">${format(value)}</td>`,
        )}
      </tr>`,
    ];
  });
  if (rows.length === 0) return html`<p class="empty">Nothing in this period yet.</p>`;
  const heads = [...series.map(({ name }) => name), ...(before ? ['period before'] : [])];
  return html`<details class="figures-table">
    <summary>Show the figures</summary>
    <table>
      <caption class="hidden">
        ${title}
      </caption>
      <thead>
        <tr>
          <th scope="col">Time, UTC</th>
          ${heads.map((head) => html`<th scope="col" class="number">${head}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </details>`;
}

const shortSpan = (span: string) => (span.length > 10 ? span.slice(0, 16).replace('T', ' ') : span);

const round = (value: number): number => Math.round(value * 100) / 100;

const SPARK = { width: 84, height: 20 } as const;

/** A word-sized chart without axes; `label` says it in words. */
export function sparkline(values: readonly number[], label: string): Html {
  const top = Math.max(1, ...values);
  const step = SPARK.width / Math.max(1, values.length);
  return html`<svg
    class="spark"
    width="${SPARK.width}"
    height="${SPARK.height}"
    role="img"
    aria-label="${label}"
  >
    <line class="grid" x1="0" x2="${SPARK.width}" y1="19.5" y2="19.5" />
    ${values.map((value, at) => {
      const height = value === 0 ? 0 : Math.max(1, (value / top) * (SPARK.height - 2));
      return html`<rect
        class="s1"
        x="${round(at * step)}"
        y="${round(SPARK.height - 1 - height)}"
        width="${round(Math.max(1, step - 1))}"
        height="${round(height)}"
      />`;
    })}
  </svg>`;
}

/** How much of an allowance is used, as a bar with its words beside it. */
export function usedBar(used: number, of: number, label: string): Html {
  const share = of === 0 ? 100 : Math.min(100, (100 * used) / of);
  const state = share >= 100 ? ' full' : share >= 80 ? ' high' : '';
  return html`<span class="used">
    <svg class="bar${state}" width="84" height="6" role="img" aria-label="${label}">
      <rect class="whole" width="100%" height="100%" />
      <rect class="part" width="${round(share)}%" height="100%" />
    </svg>
  </span>`;
}
