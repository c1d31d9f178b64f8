import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createLedger, type Ledger } from '../../../gateway/money/ledger/ledger.js';
import { LEDGER_MIGRATIONS } from '../../../gateway/money/ledger/migrations.js';
import { BINDING, someAuthorization, someReply } from '../../support/payments.js';
import { realClock, realRandom } from '../../support/ports.js';
import { temporaryStore } from '../../support/stores.js';

let books: Awaited<ReturnType<typeof temporaryStore>>;
let ledger: Ledger;
beforeEach(async () => {
  books = await temporaryStore(LEDGER_MIGRATIONS);
  ledger = createLedger({ store: books.store, clock: realClock, random: realRandom, owner: 'me' });
});
afterEach(() => books.discard());

describe('an authorization', () => {
  test('presented 200 times at once is reserved once, and all see the same payment', async () => {
    const authorization = someAuthorization();
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, index) =>
        ledger.reserve(authorization, BINDING, `request-${index}`),
      ),
    );
    expect(answers.filter((answer) => answer.kind === 'reserved')).toHaveLength(1);
    expect(new Set(answers.map((answer) => answer.payment.id)).size).toBe(1);
    expect(await ledger.find(authorization)).toMatchObject({ status: 'reserved', authorization });
  });

  test('may be used again once it was released, and not before', async () => {
    const authorization = someAuthorization();
    const first = await ledger.reserve(authorization, BINDING, 'a');
    expect((await ledger.reserve(authorization, BINDING, 'b')).kind).toBe('exists');
    const released = await ledger.release(first.payment.id, 'upstream_timeout');
    expect(released).toMatchObject({
      kind: 'done',
      payment: { status: 'released', reason: 'upstream_timeout' },
    });
    expect(await ledger.find(authorization)).toBeUndefined();
    const second = await ledger.reserve(authorization, BINDING, 'c');
    expect(second.kind).toBe('reserved');
    expect(second.payment.id).not.toBe(first.payment.id);
  });

  test('with another signature is the same payment', async () => {
    const authorization = someAuthorization();
    await ledger.reserve(authorization, BINDING, 'a');
    const again = { ...authorization, signature: '0x00' } as const;
    expect((await ledger.reserve(again, BINDING, 'b')).kind).toBe('exists');
  });
});

describe("a payer's own identifier", () => {
  const OTHER = `0x${'22'.repeat(32)}` as const;

  test('names one payment: another authorization under it reserves nothing', async () => {
    const first = someAuthorization();
    const second = someAuthorization({ from: first.from });
    const one = await ledger.reserve(first, BINDING, 'a', 'order-00000000000001');
    const two = await ledger.reserve(second, OTHER, 'b', 'order-00000000000001');
    expect(two).toMatchObject({ kind: 'identified', payment: { id: one.payment.id } });
    expect(await ledger.find(second)).toBeUndefined();
  });

  test('belongs to that payer alone, and is free again after a release', async () => {
    const first = someAuthorization();
    const one = await ledger.reserve(first, BINDING, 'a', 'order-00000000000002');
    const stranger = someAuthorization();
    expect((await ledger.reserve(stranger, BINDING, 'b', 'order-00000000000002')).kind).toBe(
      'reserved',
    );
    await ledger.release(one.payment.id, 'upstream_error');
    const next = someAuthorization({ from: first.from });
    expect((await ledger.reserve(next, BINDING, 'c', 'order-00000000000002')).kind).toBe(
      'reserved',
    );
  });
});

describe('a reply', () => {
  test('is stored once and comes back byte for byte', async () => {
    const { payment } = await ledger.reserve(someAuthorization(), BINDING, 'a');
    const reply = someReply('{"results":["é\\u0000"]}');
    expect((await ledger.serve(payment.id, reply)).kind).toBe('done');
    expect(await ledger.serve(payment.id, someReply('other'))).toEqual({
      kind: 'refused',
      because: 'already_served',
    });
    expect(await ledger.get(payment.id)).toMatchObject({ status: 'served', reply });
  });

  test('cannot be stored for a payment that was released', async () => {
    const { payment } = await ledger.reserve(someAuthorization(), BINDING, 'a');
    await ledger.release(payment.id, 'client_gone');
    expect(await ledger.serve(payment.id, someReply())).toEqual({
      kind: 'refused',
      because: 'already_released',
    });
  });
});

test('a payment that nobody knows is refused by name', async () => {
  expect(await ledger.release('nobody', 'x')).toEqual({
    kind: 'refused',
    because: 'unknown_payment',
  });
});
