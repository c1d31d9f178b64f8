/** What a gateway does while its PostgreSQL is restarted or frozen: real processes, real sockets. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { audit, countOpen, openBooks } from '../support/audit.js';
import type { RunningGateway } from '../support/gateway-process.js';
import { type Answered, type Fleet, startFleet } from '../support/keyed-fleet.js';
import { type Attempt, insist, newAttempt } from '../support/payer-client.js';
import { realClock } from '../support/ports.js';
import { until } from '../support/until.js';

let fleet: Fleet;
let gateway: RunningGateway;
const attempts: Attempt[] = [];
beforeAll(async () => {
  fleet = await startFleet();
  gateway = await fleet.start();
});
afterAll(() => fleet.stop());

/** Keyed searches and payments, one after the other and side by side, until told to stop. */
function load() {
  const answers: Answered[] = [];
  const state = { isOver: false };
  const search = async () => {
    while (!state.isOver) {
      answers.push(await fleet.search(gateway.url));
      await realClock.sleep(20);
    }
  };
  const pay = async () => {
    while (!state.isOver) {
      const payer = await fleet.chain.newPayer({ usdc: 50n });
      const attempt = await newAttempt(payer, fleet.chain.payTo);
      attempts.push(attempt);
      await insist(gateway.url, attempt, { withinMs: 180_000 });
    }
  };
  const running = Promise.all([search(), search(), search(), pay(), pay()]);
  return {
    answers,
    served: () => answers.filter(({ status }) => status === 200).length,
    stop: async () => {
      state.isOver = true;
      await running;
    },
  };
}

const isReady = async () => (await fetch(`${gateway.url}/readyz`)).status === 200;

/** Nobody got anything but results, or a refusal that says when to come again. */
function expectOnlyRefusals(answers: readonly Answered[]) {
  const odd = answers.filter(({ status, retryAfter }) =>
    status === 503 ? retryAfter === null : status !== 200,
  );
  expect(odd).toEqual([]);
}

describe('under load, while the database', () => {
  test('is restarted, killed and frozen: no exit, only 503 with Retry-After, and nothing is lost', async () => {
    const running = load();
    await until(() => running.served() > 30);
    for (const how of ['fast', 'kill'] as const) {
      await fleet.server.restart(how);
      const before = running.served();
      await until(() => running.served() > before + 30);
    }
    fleet.server.freeze();
    await until(async () => !(await isReady()));
    await until(() => running.answers.at(-1)?.status === 503);
    fleet.server.thaw();
    await until(isReady);
    const before = running.served();
    await until(() => running.served() > before + 30);
    await running.stop();

    expect(gateway.process.exitCode).toBeNull();
    expectOnlyRefusals(running.answers);
    // Whoever got results was charged, and a hold that was lost is given back after a minute.
    const { spent, held, granted, available } = await fleet.credits();
    expect(granted).toBe(available + held + spent);
    expect(spent + held).toBeGreaterThanOrEqual(running.served());
    expect(attempts.filter(({ delivered }) => !delivered)).toEqual([]);
    const books = await openBooks(fleet.server.url);
    try {
      await until(async () => (await countOpen(books)) === 0, 60_000);
      expect((await audit(fleet.chain, books, attempts)).violations).toEqual([]);
    } finally {
      await books.close();
    }
  });

  test('is gone, readiness says so with why, to everybody and to the operator', async () => {
    await fleet.server.halt();
    await until(async () => !(await isReady()));
    const told = await fetch(`${gateway.opsUrl}/readyz`);
    expect(told.status).toBe(503);
    expect(await told.json()).toMatchObject({
      status: 'not ready',
      payments: 'not ready',
      parts: { database: { ready: false, detail: expect.any(String) } },
    });
    const metrics = await (await fetch(`${gateway.opsUrl}/metrics`)).text();
    expect(metrics).toMatch(/^search402_database_ready 0$/m);
    expect(gateway.output()).toContain('the database does not answer');
    expect(await fleet.search(gateway.url)).toMatchObject({ status: 503 });
    await fleet.server.start();
    await until(isReady);
    await until(async () => (await fleet.search(gateway.url)).status === 200);
  });
});
