// npm run ledger: what the books say about payments, and whether the chain agrees.
import type { Store } from '../gateway/ground/store/store.js';
import type { AuditBooks } from '../gateway/money/ledger/audit.js';
import { type ExitCode, runCommand } from './command.js';
import { HELP, type LedgerOptions, ledgerOptions, OPTIONS } from './ledger/options.js';

await runCommand({
  help: HELP,
  options: OPTIONS,
  allowPositionals: true,
  run: async (given) => {
    const options = ledgerOptions(given);
    if (options.command.kind === 'help') {
      process.stdout.write(HELP);
      return 0;
    }
    const { AuditBooks } = await import('../gateway/money/ledger/audit.js');
    const { openBooks } = await import('./ledger/books.js');
    const store = await openBooks();
    try {
      return await answer(store, new AuditBooks(store), options);
    } finally {
      await store.close();
    }
  },
});

async function answer(store: Store, books: AuditBooks, options: LedgerOptions): Promise<ExitCode> {
  const { command, filter, isJson } = options;
  const { explain, exportCsv, list } = await import('./ledger/listing.js');
  switch (command.kind) {
    case 'help':
      break;
    case 'list':
      await list(books, options, command.limit);
      break;
    case 'explain':
      await explain(books, command.name, isJson);
      break;
    case 'reconcile': {
      const { compare } = await import('./ledger/reconciling.js');
      return compare(books, options, command.fromBlock);
    }
    case 'export':
      await exportCsv(books, filter);
      break;
    case 'movements': {
      const { exportMovements } = await import('./ledger/movement-csv.js');
      await exportMovements(store, filter, command.own);
    }
  }
  return 0;
}
