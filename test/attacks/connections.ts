import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startGateway } from '../support/gateway-process.js';
import { ask, open } from './machine.js';
import type { AttackRow } from './row.js';

const TRIES = 5000;
const OTHERS = 40;
const AT_ONCE = 250;
const UNFINISHED = 'POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Le';

/** One address holds unfinished requests open; others ask meanwhile, and so does a probe. */
export async function connections(): Promise<readonly AttackRow[]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'search402-attack-'));
  const gateway = await startGateway({ DATA_DIR: dataDir });
  try {
    return [await takeThePort(gateway.url, gateway.opsUrl)];
  } finally {
    gateway.process.kill('SIGTERM');
    await gateway.exited;
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function takeThePort(url: string, opsUrl: string): Promise<AttackRow> {
  const sockets = [];
  for (let made = 0; made < TRIES; made += AT_ONCE) {
    const some = Array.from({ length: AT_ONCE }, () => open(url, '127.0.0.2', UNFINISHED));
    sockets.push(...(await Promise.all(some)));
  }
  const others = Array.from({ length: OTHERS }, (_, index) =>
    ask(`${url}/search`, { localAddress: `127.0.1.${index + 1}` }).then(
      ({ status }) => status === 402,
      () => false,
    ),
  );
  const served = (await Promise.all(others)).filter(Boolean).length;
  const probe = await fetch(`${opsUrl}/readyz`).then(
    ({ status }) => status === 200,
    () => false,
  );
  const held = sockets.filter((socket) => socket && !socket.destroyed).length;
  for (const socket of sockets) socket?.destroy();
  return {
    attack: 'Unfinished requests from one address',
    tries: TRIES,
    gotThrough: OTHERS - served + (probe ? 0 : 1),
    costToAttacker: `${TRIES} connections`,
    costToUs: `${held} connections held`,
    note: `${served} of ${OTHERS} others answered, probe ${probe ? 'ready' : 'not answered'}`,
  };
}
