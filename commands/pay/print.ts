import type { PaidSearch, Quote } from './payment.js';

const TEXT_MAX = 240;

/** What the search costs, before it is paid. */
export function printQuote(quote: Quote): void {
  console.log(`Price: ${quote.usd} USD on ${quote.network}, to ${quote.payTo}\n`);
}

/** What was found and what was paid. */
export function printResults({ response, quote, payer, transaction, elapsedMs }: PaidSearch): void {
  const { results } = response.result;
  for (const [index, { title, url, description }] of results.entries()) {
    const text = clean(description);
    console.log(`${index + 1}. ${clean(title)}\n   ${clean(url)}`);
    console.log(`   ${text.slice(0, TEXT_MAX)}${text.length > TEXT_MAX ? '…' : ''}\n`);
  }
  if (results.length === 0) console.log('No page contains these words.\n');
  console.log(`Paid ${quote.usd} USD from ${payer}`);
  console.log(`Transaction ${transaction}`);
  console.log(`Answered in ${(elapsedMs / 1000).toFixed(2)} s, settlement included`);
}

/** One line without control characters: what comes from pages must not steer the terminal. */
function clean(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim();
}
