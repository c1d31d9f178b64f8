// npm run restore: puts a backup back where there is nothing yet, or proves that it could be.
import { type ExitCode, runCommandAndExit, UsageError } from './command.js';
import type { Part } from './backup/put-back.js';

const HELP = `npm run restore -- BACKUP [options]: puts a backup back

  --check                 only proves it: puts it into a temporary folder, checks, removes it again
  --only PARTS            some of books,index,settings,chain,secrets (default: all that it has)
  --passphrase-file FILE  opens an encrypted backup
  --key-file FILE         the same, by a key
  --without-chain         with --check: does not compare the books with the chain
  --json                  for programs

It goes to DATA_DIR, and with DATABASE_URL the books go to that database, from whichever engine they
came. Both have to be empty: nothing is ever replaced. Settings come back as a file for you to read:
DATA_DIR/restored/settings.env. Stop the gateway first.
`;

await runCommandAndExit({
  help: HELP,
  options: {
    check: { type: 'boolean', default: false },
    only: { type: 'string' },
    'passphrase-file': { type: 'string' },
    'key-file': { type: 'string' },
    'without-chain': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
  allowPositionals: true,
  errorCode: (error) =>
    error instanceof Error && 'fault' in error ? String(error.fault) : 'failed',
  run: async ({ values, positionals }): Promise<ExitCode> => {
    const [folder] = positionals;
    if (folder === undefined) throw new UsageError('name the backup');
    const { createPrivateFilesOnly } = await import('../gateway/ground/private-files.js');
    const { readKeySource } = await import('./backup/secrecy.js');
    createPrivateFilesOnly();
    const source = readKeySource({
      passphraseFile: values['passphrase-file'],
      keyFile: values['key-file'],
    });
    const say = (facts: object, text: string) =>
      process.stdout.write(values.json ? `${JSON.stringify(facts)}\n` : text);
    if (values.check) {
      const { folderOf, verify } = await import('./backup/make.js');
      const withChain = !values['without-chain'];
      const { matched, notes } = await verify(folder, folderOf(folder), { source, withChain });
      const onChain =
        matched === undefined ? '' : ` The chain has all it settled in the last day (${matched}).`;
      say(
        { ok: true, matchedOnChain: matched, notes },
        `The backup is whole, and all rules hold.${onChain}\n${notes.map((note) => `  ${note}\n`).join('')}`,
      );
      return 0;
    }
    const { openBackup } = await import('./backup/manifest.js');
    const { restore } = await import('./backup/restore.js');
    const { PARTS } = await import('./backup/put-back.js');
    const parts = partsOf(values.only, PARTS);
    const { places, notes } = await restore(openBackup(folder, source), process.env, parts);
    say(
      { ok: true, places, notes },
      `Put back:\n${[...places, ...notes].map((line) => `  ${line}\n`).join('')}`,
    );
    return 0;
  },
});

function partsOf(only: string | undefined, all: readonly Part[]): ReadonlySet<Part> {
  if (only === undefined) return new Set(all);
  return new Set(
    only.split(',').map((name) => {
      const part = all.find((one) => one === name.trim());
      if (!part) throw new UsageError(`--only: there is no part ${name}`);
      return part;
    }),
  );
}
