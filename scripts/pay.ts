// npm run pay -- "some words": a search that pays for itself, with the official x402 client.
import { PayError } from './pay/errors.js';
import { HELP, readOptions } from './pay/options.js';
import { paySearch, type PaidSearch, type Quote } from './pay/payment.js';

const TEXT_MAX = 240;

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2), process.env);
  if (!options) {
    process.stdout.write(HELP);
    return;
  }
  if (options.isJson) {
    console.log(JSON.stringify(await paySearch(options), null, 2));
    return;
  }
  console.log(`Searching at ${options.gatewayUrl}: ${options.query}`);
  printResults(await paySearch(options, printQuote));
}

function printQuote(quote: Quote): void {
  console.log(`Price: ${quote.usd} USD on ${quote.network}, to ${quote.payTo}\n`);
}

function printResults({ response, quote, payer, transaction, elapsedMs }: PaidSearch): void {
  const { results } = response.result;
  for (const [index, { title, url, description }] of results.entries()) {
    const text = clean(description);
    console.log(`${index + 1}. ${clean(title)}\n   ${clean(url)}`);
    console.log(`   ${text.slice(0, TEXT_MAX)}${text.length > TEXT_MAX ? '…' : ''}\n`);
  }
  if (results.length === 0) console.log('No page has these words.\n');
  console.log(`Paid ${quote.usd} USD from ${payer}`);
  console.log(`Transaction ${transaction}`);
  console.log(`Answered in ${(elapsedMs / 1000).toFixed(2)} s, settlement included`);
}

/** One line without control characters: what comes from pages must not steer the terminal. */
function clean(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim();
}

try {
  await main();
} catch (error) {
  const known = error instanceof PayError;
  const message = error instanceof Error ? error.message : String(error);
  if (process.argv.includes('--json')) {
    console.log(JSON.stringify({ error: known ? error.code : 'failed', message }));
  } else {
    console.error(message);
  }
  process.exitCode = known && error.code === 'usage' ? 2 : 1;
}
