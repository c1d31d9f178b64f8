// node bench/payment-rules.mjs: what the free checks of a payment cost, beside the protocol's own
// codec and schema. One line for each, in operations per second of one core.
import { decodePaymentSignatureHeader, encodePaymentRequiredHeader } from '@x402/core/http';
import { parsePaymentPayload } from '@x402/core/schemas';
import { checkNode, ensureBuilt, ensureInstalled } from '../scripts/steps.mjs';

checkNode();
await ensureInstalled();
await ensureBuilt();
const { createVerifier } = await import('../dist/gateway/money/payment/verifier.js');
const { createDigest } = await import('../dist/gateway/money/payment/signature.js');
const { transferCalls } = await import('../dist/gateway/money/payment/transfer.js');
const { createQuotes, quoteKey } = await import('../dist/gateway/money/payment/quotes.js');
const { decodePaymentSignature } = await import('../dist/gateway/money/x402/payment.js');
const { createChallengeEncoder, encodePaymentRequired, paymentRequired } =
  await import('../dist/gateway/money/x402/challenge.js');
const { paymentHeader, resource, standingClock, terms } =
  await import('../dist/test/support/presented.js');

const MEASURE_MS = 1000;
const COPIES = 4000;

async function measure(name, task) {
  for (let warm = 0; warm < 100; warm++) await task(warm);
  const start = performance.now();
  let count = 0;
  for (; performance.now() - start < MEASURE_MS; count++) await task(count);
  const perSecond = Math.round((count * 1000) / (performance.now() - start));
  console.log(`${name.padEnd(58)}${perSecond.toLocaleString('en').padStart(14)} /s`);
}

const own = terms();
const header = await paymentHeader(own);
const verifier = createVerifier({
  chain: { ethCall: () => Promise.reject(new Error('the chain was asked')) },
  clock: standingClock(),
  offer: () => ({ terms: own, resource }),
  limits: { settleMarginSeconds: 10, validityMaxSeconds: 86_400, deadlineMs: 1000 },
  eip6492Factories: [],
});
const payment = decodePaymentSignature(header);
const authorization = await verifier.check(payment);
const digest = createDigest({ ...own.domain, chainId: own.chainId, verifyingContract: own.asset });
const quotes = createQuotes([quoteKey(Buffer.alloc(32, 1))]);
const challenge = createChallengeEncoder();

console.log(`Node ${process.version}, a payment header of ${header.length} characters\n`);
await measure('challenge, kept', () => challenge({ terms: own, resource }));
await measure('challenge, encoded anew', () => encodePaymentRequired({ terms: own, resource }));
await measure('  the same by @x402/core', () =>
  encodePaymentRequiredHeader(paymentRequired({ terms: own, resource })),
);
await measure('quote, signed', (count) => quotes.sign(own, 1_800_000_000 + count));
await measure('payment header, decoded and checked', () => decodePaymentSignature(header));
await measure('  the same by @x402/core (decoder and schema)', () =>
  parsePaymentPayload(decodePaymentSignatureHeader(header)),
);
await measure('EIP-712 digest', () => digest(authorization));
await measure('calldata of the transfer', () => transferCalls(authorization));
await measure('check of a copy (its signer is remembered)', () => verifier.check(payment));

const fresh = [];
for (let index = 0; index < COPIES; index++) {
  const nonce = `0x${index.toString(16).padStart(64, '0')}`;
  // Not signed anew: recovering somebody else costs the same.
  fresh.push({ ...payment, transfer: { ...payment.transfer, nonce } });
}
await measure('check of a new payment (its signer is recovered)', (count) =>
  verifier.check(fresh[count % COPIES]),
);
