import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  adopt,
  charge,
  EMPTY_BOOK,
  nextValue,
  release,
  setAside,
  type Book,
} from '../../sdk/typescript/src/channel/book.js';
import { believe } from '../../sdk/typescript/src/channel/believe.js';
import { readCorrection } from '../../sdk/typescript/src/channel/answer.js';
import {
  depositData,
  depositNonce,
  isOwnVoucher,
  refundHeader,
  voucherData,
  voucherHeader,
} from '../../sdk/typescript/src/channel/signed.js';
import { channelIdOf } from '../../sdk/typescript/src/channel/terms.js';
import { toHex } from '../../sdk/typescript/src/eth/bytes.js';
import { digestOf } from '../../sdk/typescript/src/eth/typed-data.js';
import { privateKeyAccount } from '../../sdk/typescript/src/node/index.js';
import { readChannelTerms } from '../../sdk/typescript/src/payment/challenge.js';
import { channelVectors, type ChannelVector } from '../support/channel-vectors.js';

const { channels, wire, corrections, signing } = channelVectors;
const [first] = channels;
if (!first) throw new Error('the vectors have no channel');
const terms = readChannelTerms(wire.accepted, wire.resource);
if (!terms) throw new Error('the terms of the vectors cannot be read');

const sign = (book: Book, price: bigint): Book =>
  setAside(book, { value: nextValue(book, price), body: '', atMs: 0 });

describe('the published vectors', () => {
  test.each(channels)('are what the SDK signs: $name', async (vector: ChannelVector) => {
    const { chainId, channelId, config, deposit } = vector;
    expect(channelIdOf(config, chainId)).toBe(channelId);
    for (const { maxClaimableAmount, digest, signature } of vector.vouchers) {
      const data = voucherData(channelId, chainId, BigInt(maxClaimableAmount));
      expect(toHex(digestOf(data))).toBe(digest);
      expect(await privateKeyAccount(vector.voucherKey).signTypedData(data)).toBe(signature);
      expect(isOwnVoucher(config.payerAuthorizer, data, signature)).toBe(true);
      expect(isOwnVoucher(config.receiver, data, signature)).toBe(false);
    }
    expect(depositNonce(channelId, deposit.salt)).toBe(deposit.nonce);
    if (deposit.validAfter !== '0') return; // The SDK's deposits are valid at once.
    const data = depositData({ ...terms, chainId }, channelId, config.payer, {
      amountUnits: BigInt(deposit.amount),
      validBefore: Number(deposit.validBefore),
      salt: deposit.salt,
    });
    expect(toHex(digestOf(data))).toBe(deposit.digest);
    expect(await privateKeyAccount(vector.payerKey).signTypedData(data)).toBe(deposit.signature);
  });

  test('are the headers that the SDK sends', () => {
    const { config, channelId, deposit, vouchers } = first;
    const voucher = (index: number) => {
      const { maxClaimableAmount = '', signature = '0x' as const } = vouchers[index] ?? {};
      return { channelId, maxClaimableAmount: BigInt(maxClaimableAmount), signature };
    };
    const signed = {
      amountUnits: BigInt(deposit.amount),
      validBefore: Number(deposit.validBefore),
      ...{ salt: deposit.salt, signature: deposit.signature },
    };
    expect([
      voucherHeader(terms, config, voucher(0), signed),
      voucherHeader(terms, config, voucher(1)),
      refundHeader(terms, config, voucher(1), 1_000n),
      refundHeader(terms, config, voucher(1)),
    ]).toEqual(wire.payloads.map(({ header }) => header));
  });

  test.each(corrections)('$name', ({ extra, adopted, next }) => {
    const accepted = { ...wire.accepted, extra: { ...(wire.accepted.extra as object), ...extra } };
    const correction = readCorrection(accepted);
    const channel = { id: first.channelId, config: first.config, terms };
    const believed = correction && believe(channel, correction);
    if (!adopted) {
      expect(believed).toBeUndefined();
      return;
    }
    if (!believed) throw new Error('nothing was believed');
    const book = adopt(EMPTY_BOOK, believed, 0n);
    expect(book).toMatchObject({
      charged: BigInt(adopted.charged),
      highest: BigInt(adopted.highest),
      balance: BigInt(adopted.balance),
    });
    expect(String(nextValue(book, 50n))).toBe(next);
  });

  test.each(signing)('$name', ({ steps, price }) => {
    let book = EMPTY_BOOK;
    for (const step of steps) {
      if ('sign' in step) {
        expect(String(nextValue(book, BigInt(price)))).toBe(step.sign);
        book = sign(book, BigInt(price));
      } else if ('charged' in step) {
        book = charge(book, BigInt(step.charged), BigInt(step.amount ?? price));
      } else {
        book = release(book, BigInt(step.failed));
      }
    }
  });
});

/** A gateway's books for one channel; it learns of vouchers in any order. */
class Server {
  charged = 0n;
  signed = 0n;
  readonly reserved = new Set<bigint>();
  readonly bought = new Set<bigint>();

  constructor(private readonly price: bigint) {}

  takes(value: bigint): boolean {
    if (this.bought.has(value) || this.reserved.has(value)) return false;
    const signed = value > this.signed ? value : this.signed;
    if (this.charged + this.price * BigInt(this.reserved.size + 1) > signed) return false;
    this.signed = signed;
    this.reserved.add(value);
    return true;
  }

  end(value: bigint, isAnswered: boolean): void {
    this.reserved.delete(value);
    if (!isAnswered) return;
    this.bought.add(value);
    this.charged += this.price;
  }
}

describe('signing for requests in flight', () => {
  const step = fc.record({
    act: fc.constantFrom('sign', 'arrive', 'arrive', 'end', 'end', 'answer', 'answer', 'refuse'),
    pick: fc.nat(63),
    isAnswered: fc.integer({ min: 0, max: 19 }).map((roll) => roll > 0),
  });

  test('whatever arrives, fails or is answered in whatever order, every voucher is taken, and no more is signed than searches can cost', () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 400 }),
        fc.constantFrom(1n, 3n, 50n),
        (steps, price) => {
          const server = new Server(price);
          let book = EMPTY_BOOK;
          const sent: bigint[] = [];
          const running: bigint[] = [];
          const answers: { value: bigint; isAnswered: boolean; charged?: bigint }[] = [];
          const take = <T>(list: T[], pick: number) => list.splice(pick % list.length, 1)[0];
          const move = ({ act, pick, isAnswered }: (typeof steps)[number]) => {
            if (act === 'sign' && book.inFlight.length < 64) {
              sent.push(nextValue(book, price));
              book = sign(book, price);
            } else if (act === 'arrive' && sent.length > 0) {
              const value = take(sent, pick) ?? 0n;
              expect(server.takes(value)).toBe(true);
              running.push(value);
            } else if (act === 'refuse' && sent.length > 0) {
              // Turned away before anything of it was kept: too many requests.
              answers.push({ value: take(sent, pick) ?? 0n, isAnswered: false });
            } else if (act === 'end' && running.length > 0) {
              const value = take(running, pick) ?? 0n;
              server.end(value, isAnswered);
              answers.push({ value, isAnswered, charged: server.charged });
            } else if (act === 'answer' && answers.length > 0) {
              const answer = take(answers, pick) ?? { value: 0n, isAnswered };
              const { value, isAnswered: good, charged = 0n } = answer;
              const said = { charged, balance: 0n };
              book = good ? charge(book, value, price, said) : release(book, value);
            }
          };
          steps.forEach(move);
          const rest = { pick: 0, isAnswered: true };
          while (sent.length > 0) move({ act: 'arrive', ...rest });
          while (running.length > 0) move({ act: 'end', ...rest });
          while (answers.length > 0) move({ act: 'answer', ...rest });
          expect(book.charged).toBe(server.charged);
          expect(book.highest - book.charged).toBeLessThanOrEqual(price * 64n);
          expect(server.signed).toBeGreaterThanOrEqual(server.charged);
        },
      ),
      { numRuns: 300 },
    );
  });
});
