import { contentFault } from '../gate.js';
import type { Page } from '../page.js';
import type { Batch } from './batch.js';
import type { Known } from './address.js';
import type { Books } from './books.js';
import { NO_HISTORY } from './schedule.js';
import { printOf, twinOf } from './twins.js';

/** Takes in a page out of an archive, which is not looked at again; says why where it does not. */
export function takeArchived(
  address: Pick<Known, 'kind' | 'url' | 'source'>,
  page: Page,
  { books, batch }: { readonly books: Books; readonly batch: Batch },
): string | undefined {
  const at = { depth: 0, hops: 0, dueSeconds: 0 };
  if (books.find(address) === undefined) books.add({ ...address, ...at });
  const known = books.find(address);
  if (!known) return 'invalid_url';
  const print = printOf(page);
  const fault = contentFault(page) ?? twinOf(books, known, page.url, print);
  if (fault === undefined) batch.put(page);
  else if (known.page !== undefined) batch.delete(known.page);
  const isTwin = fault?.includes('duplicate') === true;
  books.settle(known, {
    outcome: fault === undefined ? 'indexed' : isTwin ? 'duplicate' : 'dropped',
    reason: fault,
    page: fault === undefined ? page.url : undefined,
    print,
    etag: undefined,
    modified: undefined,
    tries: 0,
    history: NO_HISTORY,
    checkedSeconds: 0,
    dueSeconds: undefined,
  });
  return fault;
}
