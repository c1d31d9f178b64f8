import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** What scripts need to know of a development start; `data/dev.json`. All keys are worthless. */
export interface DevFacts {
  readonly warning: string;
  readonly gatewayUrl: string;
  readonly apiUrl: string;
  readonly rpcUrl: string;
  readonly chainId: number;
  readonly asset: string;
  readonly payTo: string;
  readonly payerAddress: string;
  readonly payerPrivateKey: string;
  readonly apiKey: string;
}

export const DEV_WARNING =
  'Local development chain: these keys are publicly known and worthless. Never send funds to them.';

/** Reads the facts of an earlier start; undefined when there are none that can be read. */
export async function readDevFacts(file: string): Promise<Partial<DevFacts> | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Partial<DevFacts>;
  } catch {
    return undefined;
  }
}

/** Writes the facts in one step, readable by this user alone. */
export async function writeDevFacts(file: string, facts: DevFacts): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const temporary = `${file}.${process.pid}.tmp`;
  await writeFile(temporary, `${JSON.stringify(facts, null, 2)}\n`, { mode: 0o600 });
  await rename(temporary, file);
}
