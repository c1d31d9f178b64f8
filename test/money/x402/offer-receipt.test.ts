import { expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { verifyReceiptSignatureJWS } from '@x402/extensions/offer-receipt';
import { unixMillis, usdcUnits } from '../../../gateway/ground/domain/units.js';
import { receiptKey } from '../../../gateway/money/x402/receipt-key.js';
import type { ChannelReceipt } from '../../../gateway/money/x402/receipt.js';
import { createProofs } from '../../../gateway/search/proofs.js';
import { createWire } from '../../../gateway/wiring/x402-wire.js';
import { verifyReceipt } from '../../../sdk/typescript/src/index.js';
import { resource, terms } from '../../support/presented.js';

const SEED = new Uint8Array(32).fill(3);
const key = receiptKey(SEED, 'https://search.example:8443');
let nowMs = 1_700_000_000_000;
const proofs = createProofs({
  key,
  resourceUrl: 'https://search.example:8443/search',
  offerSeconds: 300,
  clock: { now: () => nowMs as never },
});
const body = Buffer.from('{"requestId":"r","result":{}}');
const delivered = {
  sold: { binding: '0xab', at: unixMillis(1_700_000_000_000), generation: 7 },
  body,
} as const;
const channel = {
  channelId: `0x${'cd'.repeat(32)}`,
  balance: usdcUnits(100n),
  claimed: usdcUnits(0n),
  refundNonce: 0n,
  charged: usdcUnits(50n),
} as ChannelReceipt['channel'];
const payer = `0x${'11'.repeat(20)}` as const;

test('the receipt of a voucher names its channel and what was charged', async () => {
  const chargedAmount = usdcUnits(50n);
  const receipt = { chainId: 8453, payer, channel, chargedAmount } as never;
  const header = createWire(() => ({ terms: terms(), resource }), false, proofs);
  const value = header.receiptHeader(receipt, 2, delivered);
  const expected = { result: body.toString(), payer, didDocument: key.document };
  const { claims, isServicesKey } = await verifyReceipt(value, expected);
  expect(isServicesKey).toBe(true);
  expect(claims).toEqual({
    version: 1,
    network: 'eip155:8453',
    resourceUrl: 'https://search.example:8443/search',
    payer,
    issuedAt: 1_700_000_000,
    transaction: '',
    amount: '50',
    channelId: channel.channelId,
    requestHash: '0xab',
    resultHash: expect.stringMatching(/^0x[0-9a-f]{64}$/) as unknown,
    indexGeneration: 7,
  });
  const decoded = JSON.parse(Buffer.from(value, 'base64').toString()) as {
    extensions: { 'offer-receipt': { info: { receipt: never } } };
  };
  const official = decoded.extensions['offer-receipt'].info.receipt;
  const [{ publicKeyJwk }] = key.document.verificationMethod as [{ publicKeyJwk: never }];
  expect(await verifyReceiptSignatureJWS(official, publicKeyJwk)).toEqual(claims);
});

test('a failure, a refund and an unsigned service have no signed receipt', () => {
  const failed = { chainId: 8453, payer, errorReason: 'x' } as never;
  expect(proofs.receipt(failed, delivered)).toBeUndefined();
  expect(proofs.receipt({ chainId: 8453, payer, channel } as never, undefined)).toBeUndefined();
  const offer = { terms: terms(), resource };
  const decode = (text: string) => Buffer.from(text, 'base64').toString();
  const [plain, signed] = [createWire(() => offer, false), createWire(() => offer, false, proofs)];
  const asked = { error: 'Payment required' };
  expect(decode(plain.challengeHeader(asked))).not.toContain('offer-receipt');
  const [unsigned, whole] = [plain, signed].map(
    (wire) => JSON.parse(decode(wire.challengeHeader(asked))) as { extensions: object },
  );
  // The extension is all that is added.
  const { 'offer-receipt': _, ...others } = (whole?.extensions ?? {}) as Record<string, unknown>;
  expect({ ...whole, extensions: others }).toEqual(unsigned);
});

test('a signed challenge is kept for a minute, and always stands for the promised time', () => {
  const first = proofs.signer();
  if (!first) throw new Error('offers are signed here');
  nowMs += 59_000;
  expect(proofs.signer()).toBe(first);
  expect(first.validUntil - nowMs / 1000).toBeGreaterThan(240);
  nowMs += 1_000;
  expect(proofs.signer()?.validUntil).toBe(first.validUntil + 60);
});

test('the same seed is the same key, under the name of its address', () => {
  expect(receiptKey(SEED, 'https://search.example:8443').document).toEqual(key.document);
  expect(key.document.id).toBe('did:web:search.example%3A8443');
  const other = receiptKey(new Uint8Array(32).fill(4), 'https://search.example:8443');
  expect(other.document.assertionMethod).not.toEqual(key.document.assertionMethod);
});

test('the vectors that the SDKs share are what this signs', async () => {
  const vector = JSON.parse(readFileSync('test/vectors/receipt.json', 'utf8')) as {
    readonly seed: string;
    readonly query: string;
    readonly reply: string;
    readonly receipt: string;
    readonly didDocument: object;
  };
  const { seed, query, reply, receipt, didDocument } = vector;
  const own = receiptKey(Buffer.from(seed, 'hex'), 'https://search.example:8443');
  expect(own.document).toEqual(didDocument);
  const expected = { result: reply, request: { query }, didDocument };
  const { claims } = await verifyReceipt(receipt, expected);
  expect(own.sign(claims)).toBe(receipt);
  const printed = JSON.stringify(JSON.parse(reply), null, 2);
  await expect(verifyReceipt(receipt, { result: printed })).resolves.toBeDefined();
});
