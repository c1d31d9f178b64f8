import { randomBytes } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { Log } from '../ground/domain/ports.js';
import type { AnvilProcess } from './anvil.js';
import { anvilClient, type AnvilClient } from './funding.js';
import { saveState } from './state.js';

/**
 * A gateway that is killed at once (`kill -9`) leaves its anvil running. What is needed to find it
 * again stands in `anvil.json`; a random mark in the chain's own storage proves that the process
 * at that address is the one meant, and no other anvil that got the same port or process id.
 */
const noteSchema = z.strictObject({
  pid: z.int().positive(),
  rpcUrl: z.url(),
  settings: z.string(),
  mark: z.string().regex(/^0x[0-9a-f]{64}$/),
});

const noteFile = (folder: string) => join(folder, 'anvil.json');
const MARK_ADDRESS = '0x000000000000000000000000000000000000402d';
const MARK_SLOT = `0x${'0'.repeat(64)}` as const;

/** Writes down the running anvil, and marks its chain. */
export async function remember(
  folder: string,
  settings: string,
  anvil: AnvilProcess,
  client: AnvilClient,
): Promise<void> {
  const mark = `0x${randomBytes(32).toString('hex')}` as const;
  await client.setStorageAt({ address: MARK_ADDRESS, index: MARK_SLOT, value: mark });
  const note = { pid: anvil.pid, rpcUrl: anvil.rpcUrl, settings, mark };
  writeFileSync(noteFile(folder), JSON.stringify(note));
}

export function forget(folder: string): void {
  rmSync(noteFile(folder), { force: true });
}

/**
 * Takes over the anvil that a killed process left behind in this folder; undefined when there is
 * none. One that was started with other settings is saved to `stateFile` and ended.
 */
export async function adopt(
  folder: string,
  settings: string,
  stateFile: string,
  log: Log,
): Promise<AnvilProcess | undefined> {
  const note = readNote(folder);
  if (!note || !isAlive(note.pid)) return undefined;
  const client = anvilClient(note.rpcUrl);
  const mark = await client
    .getStorageAt({ address: MARK_ADDRESS, slot: MARK_SLOT })
    .catch(() => undefined);
  if (mark !== note.mark) return undefined;
  const anvil = adopted(note.pid, note.rpcUrl);
  if (note.settings !== settings) {
    log.info({ pid: note.pid }, 'ending the development chain of an earlier start');
    await saveState(client, stateFile);
    await anvil.kill();
    return undefined;
  }
  log.info({ pid: note.pid }, 'taking over the development chain of an earlier start');
  return anvil;
}

function readNote(folder: string) {
  try {
    return noteSchema.parse(JSON.parse(readFileSync(noteFile(folder), 'utf8')));
  } catch {
    return undefined; // There is none, or a kill left half of one: nothing to take over.
  }
}

function adopted(pid: number, rpcUrl: string): AnvilProcess {
  const ended = (async () => {
    while (isAlive(pid)) await sleep(100, undefined, { ref: false });
  })();
  const kill = async () => {
    if (isAlive(pid)) process.kill(pid, 'SIGKILL');
    while (isAlive(pid)) await sleep(10);
  };
  return { pid, rpcUrl, ended, kill };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
