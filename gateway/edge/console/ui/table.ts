import { html, type Html } from '../html.js';

type Cell = Html | string | number;

/** A column; `sort` is its name in the address where rows can be put in order by it. */
export interface Column {
  readonly head: string;
  readonly sort?: string;
  readonly isNumber?: boolean;
}

/** How a table is looked at: kept in the address, so that it can be linked to and reloaded. */
export interface TableView {
  /** Column by which rows are ordered, if any. */
  readonly sort: string | undefined;
  readonly isDescending: boolean;
  /** From 1. */
  readonly page: number;
  /** The address of the same table, looked at otherwise. */
  href(change: Readonly<Record<string, string | undefined>>): string;
}

/** Reads `sort` and `page` of an address; `-name` orders the other way round. */
export function tableView(path: string, query: Readonly<Record<string, unknown>>): TableView {
  const given = Object.entries(query).flatMap(([name, value]) =>
    typeof value === 'string' && value !== '' ? [[name, value.slice(0, 200)] as const] : [],
  );
  const { sort = '', page = '' } = Object.fromEntries(given) as { sort?: string; page?: string };
  return {
    sort: sort.replace(/^-/, '') || undefined,
    isDescending: sort.startsWith('-'),
    page: /^[1-9]\d{0,5}$/.test(page) ? Number(page) : 1,
    href(change) {
      const next = new URLSearchParams(Object.fromEntries(given));
      for (const [name, value] of Object.entries(change)) {
        if (value === undefined) next.delete(name);
        else next.set(name, value);
      }
      const text = next.toString();
      return text === '' ? path : `${path}?${text}`;
    },
  };
}

/** The rows in the order that the view asks for; as they are where it asks for none. */
export function sorted<Row>(
  rows: readonly Row[],
  { sort, isDescending }: TableView,
  by: Readonly<Record<string, (row: Row) => number | string>>,
): readonly Row[] {
  const keyOf = sort === undefined ? undefined : by[sort];
  if (!keyOf) return rows;
  const sign = isDescending ? -1 : 1;
  return [...rows].sort((one, other) => {
    const [left, right] = [keyOf(one), keyOf(other)];
    return left === right ? 0 : left < right ? -sign : sign;
  });
}

/**
 * The one data table: a caption for those who hear it, heads that sort by a link, and a head that stays
 * in sight. On a narrow screen each row of one that holds more than figures becomes a card.
 */
export function dataTable(table: {
  readonly caption: string;
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly Cell[])[];
  readonly empty: Html | string;
  readonly view?: TableView;
}): Html {
  const { caption, columns, rows, empty, view } = table;
  if (rows.length === 0) {
    return typeof empty === 'string' ? html`<p class="empty">${empty}</p>` : empty;
  }
  const isNumber = (at: number) =>
    columns[at]?.isNumber === true || typeof rows[0]?.[at] === 'number';
  const holdsFigures = columns.every((_, at) => at === 0 || isNumber(at));
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${caption}">
    <table class="${holdsFigures ? '' : 'cards'}">
      <caption class="hidden">
        ${caption}
      </caption>
      <thead>
        <tr>
          ${columns.map((column, at) => headOf(column, isNumber(at), view))}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row) =>
            html`<tr>
              ${row.map((cell, at) => cellOf(cell, columns[at]?.head ?? '', isNumber(at)))}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

function headOf({ head, sort }: Column, isNumber: boolean, view: TableView | undefined): Html {
  const className = isNumber ? 'number' : '';
  if (head === '')
    return html`<th scope="col" class="${className}"><span class="hidden">Actions</span></th>`;
  if (sort === undefined || !view) return html`<th scope="col" class="${className}">${head}</th>`;
  const isBy = view.sort === sort;
  const order = !isBy ? 'none' : view.isDescending ? 'descending' : 'ascending';
  const next = isBy && !view.isDescending ? `-${sort}` : sort;
  return html`<th scope="col" class="${className}" aria-sort="${order}">
    <a href="${view.href({ sort: next, page: undefined })}">${head}</a>
  </th>`;
}

function cellOf(cell: Cell, head: string, isNumber: boolean): Html {
  if (typeof cell === 'number')
    return html`<td class="number" data-head="${head}">${cell.toLocaleString('en-US')}</td>`;
  return html`<td class="${isNumber ? 'number' : ''}" data-head="${head}"><div>${cell}</div></td>`;
}

/** One filter that may be set or taken away, each kept in the address. */
export interface Chip {
  readonly name: string;
  readonly value: string;
  readonly label: string;
}

/** Filters of a table as links: the one that is set takes itself away. */
export function chips(
  label: string,
  all: readonly Chip[],
  query: Readonly<Record<string, unknown>>,
  view: TableView,
): Html {
  return html`<ul class="chips" aria-label="${label}">
    ${all.map(({ name, value, label: text }) => {
      const isOn = query[name] === value;
      const href = view.href({ [name]: isOn ? undefined : value, page: undefined });
      return html`<li>
        <a href="${href}" ${isOn ? html`aria-current="true"` : ''}
          >${text}${isOn ? html`<span class="hidden"> (remove this filter)</span>` : ''}</a
        >
      </li>`;
    })}
  </ul>`;
}

/** One of several ways to look at a page, kept in the address. */
export function choiceLinks(
  label: string,
  name: string,
  options: readonly (readonly [value: string, text: string])[],
  { current, view }: { readonly current: string; readonly view: TableView },
): Html {
  return html`<ul class="chips one" aria-label="${label}">
    ${options.map(
      ([value, text]) =>
        html`<li>
          <a
            href="${view.href({ [name]: value, page: undefined })}"
            ${value === current ? html`aria-current="true"` : ''}
            >${text}</a
          >
        </li>`,
    )}
  </ul>`;
}

/** Back and on; `hasMore` where there is a page after this one. */
export function pager(view: TableView, hasMore: boolean): Html {
  if (view.page === 1 && !hasMore) return html``;
  return html`<nav class="pager" aria-label="Pages">
    ${
      view.page > 1
        ? html`<a
            class="button"
            rel="prev"
            href="${view.href({ page: view.page === 2 ? undefined : String(view.page - 1) })}"
            >Newer</a
          >`
        : ''
    }
    <span>Page ${view.page}</span>
    ${
      hasMore
        ? html`<a class="button" rel="next" href="${view.href({ page: String(view.page + 1) })}"
            >Older</a
          >`
        : ''
    }
  </nav>`;
}
