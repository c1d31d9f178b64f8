// npm run pay -- "some words": a search that pays for itself, with the official x402 client.
import { type ExitCode, runCommand } from './command.js';
import { PayError } from './pay/errors.js';
import { HELP, OPTIONS, payOptions } from './pay/options.js';
import { printQuote, printResults } from './pay/print.js';

await runCommand({
  help: HELP,
  options: OPTIONS,
  allowPositionals: true,
  errorCode: (error) => (error instanceof PayError ? error.code : 'failed'),
  run: async (given): Promise<ExitCode> => {
    const options = payOptions(given, process.env);
    const { paySearch } = await import('./pay/payment.js');
    if (given.values.json) console.log(JSON.stringify(await paySearch(options), null, 2));
    else {
      console.log(`Searching at ${options.gatewayUrl}: ${options.query}`);
      printResults(await paySearch(options, printQuote));
    }
    return 0;
  },
});
