// npm run backup: copies books, settings and index while the gateway runs, and proves the copy.
import { type ExitCode, runCommandAndExit, UsageError, wholeNumber } from './command.js';

const HELP = `npm run backup -- FOLDER [options]: a copy of books, settings and index that was proven

  --passphrase-file FILE  encrypts it under the passphrase in FILE (12 characters or more)
  --key-file FILE         encrypts it under the key in FILE: 64 hex digits (openssl rand -hex 32)
  --with-secrets          copies settings with secrets and key files, too; only when encrypted
  --without-index         leaves the index out
  --without-chain         does not compare the copy with the chain
  --keep N                removes older backups in FOLDER beyond the newest N, this one included
  --json                  for programs

It may run beside the gateway, on SQLite and on PostgreSQL, and changes nothing there. Each backup gets
a folder of its own in FOLDER. Before it gets its name, it is put back into a temporary folder, what
must always hold of the books is checked, and the payments of the last day are compared with the
chain. Settings as for the gateway.
`;

await runCommandAndExit({
  help: HELP,
  options: {
    'passphrase-file': { type: 'string' },
    'key-file': { type: 'string' },
    'with-secrets': { type: 'boolean', default: false },
    'without-index': { type: 'boolean', default: false },
    'without-chain': { type: 'boolean', default: false },
    keep: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
  allowPositionals: true,
  errorCode: (error) =>
    error instanceof Error && 'fault' in error ? String(error.fault) : 'failed',
  run: async ({ values, positionals }): Promise<ExitCode> => {
    const [into] = positionals;
    if (into === undefined) throw new UsageError('name the folder for backups');
    const keep = values.keep === undefined ? undefined : wholeNumber('keep', values.keep, 1, 9999);
    const { readKeySource } = await import('./backup/secrecy.js');
    const { makeBackup } = await import('./backup/make.js');
    const { madeJson, madeText, removeOld } = await import('./backup/report.js');
    const source = readKeySource({
      passphraseFile: values['passphrase-file'],
      keyFile: values['key-file'],
    });
    const made = await makeBackup(process.env, {
      into,
      source,
      withSecrets: values['with-secrets'],
      withIndex: !values['without-index'],
      withChain: !values['without-chain'],
    });
    const removed = keep === undefined ? [] : removeOld(into, keep);
    process.stdout.write(values.json ? madeJson(made, removed) : madeText(made, removed));
    return 0;
  },
});
