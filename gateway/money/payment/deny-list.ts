import { readFile, stat } from 'node:fs/promises';
import type { Clock, Log } from '../../ground/domain/ports.js';
import { refuse, type Refusal } from '../../ground/domain/refusal.js';
import { StartError } from '../../ground/domain/start-error.js';
import { parseAddress, type Address } from '../../ground/domain/units.js';

/** Payers whose payments the operator does not take. */
export interface DenyList {
  /** Why nothing new is sold to this payer, if so. */
  objection(payer: Address): Promise<Refusal | undefined>;
}

export const EVERYBODY_MAY_PAY: DenyList = { objection: () => Promise.resolve(undefined) };

/** Milliseconds for which the file is not looked at again. */
const LOOK_MS = 5_000;
const LINES_SHOWN = 3;

/**
 * Reads addresses from a file: one a line, the rest of a line after `#` is a comment. A changed file
 * counts within seconds. While it is missing or has a fault, the addresses of before count, and the
 * log says so.
 * @throws StartError when it cannot be read at the start.
 */
export async function openDenyList(
  file: string,
  { clock, log }: { readonly clock: Pick<Clock, 'monotonicMs'>; readonly log: Log },
): Promise<DenyList> {
  const read = async () => {
    const { mtimeMs, size } = await stat(file);
    return { stamp: `${mtimeMs} ${size}`, denied: parse(await readFile(file, 'utf8')) };
  };
  let list = await read().catch((error: unknown) => {
    throw new StartError(`PAYER_DENY_FILE: ${sentenceOf(error)}`);
  });
  let lookedMs = clock.monotonicMs();
  let looking: Promise<void> | undefined;

  const look = async (): Promise<void> => {
    lookedMs = clock.monotonicMs();
    try {
      const { mtimeMs, size } = await stat(file);
      if (`${mtimeMs} ${size}` === list.stamp) return;
      list = await read();
      log.info({ payers: list.denied.size }, 'the list of denied payers was read again');
    } catch (error) {
      log.error({ error: sentenceOf(error) }, 'the list of denied payers could not be read');
    }
  };

  return {
    objection: async (payer) => {
      if (clock.monotonicMs() - lookedMs >= LOOK_MS) {
        looking ??= look().finally(() => {
          looking = undefined;
        });
      }
      await looking;
      return list.denied.has(payer) ? DENIED : undefined;
    },
  };
}

const DENIED = refuse('payer_denied', 'This service takes no payments from this wallet.');

function parse(text: string): ReadonlySet<Address> {
  const denied = new Set<Address>();
  const faults: number[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    const [entry = ''] = line.split('#');
    if (entry.trim() === '') continue;
    const payer = parseAddress(entry.trim());
    if (payer) denied.add(payer);
    else faults.push(index + 1);
  }
  if (faults.length === 0) return denied;
  throw new Error(
    `line ${faults.slice(0, LINES_SHOWN).join(', ')} is no address (0x and 40 hex digits)`,
  );
}

function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
