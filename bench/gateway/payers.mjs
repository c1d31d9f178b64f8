// Payers in a closed loop: sign, send, wait for the reply, again. Every signature is a new one.
import { randomBytes } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { authorizationTypes } from '../../dist/contracts-abi/usdc.js';

const decode = (header) => JSON.parse(Buffer.from(header, 'base64').toString());
const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64');

/** Signs a payment for this challenge as the official client does. */
async function sign(account, challenge) {
  const [accepted] = challenge.accepts;
  const { asset, payTo, amount, network, maxTimeoutSeconds, extra } = accepted;
  const authorization = {
    from: account.address,
    to: payTo,
    value: amount,
    validAfter: '0',
    validBefore: String(Math.floor(Date.now() / 1000) + maxTimeoutSeconds),
    nonce: `0x${randomBytes(32).toString('hex')}`,
  };
  const signature = await account.signTypedData({
    domain: {
      name: extra.name,
      version: extra.version,
      chainId: Number(network.split(':')[1]),
      verifyingContract: asset,
    },
    types: authorizationTypes,
    primaryType: 'TransferWithAuthorization',
    message: authorization,
  });
  const { resource } = challenge;
  return encode({ x402Version: 2, resource, accepted, payload: { signature, authorization } });
}

/** Lets every payer pay, one search after the other, for so long. */
export async function pay(url, accounts, durationMs) {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ query: 'sign typed data', maxResults: 5 });
  const unpaid = await fetch(`${url}/search`, { method: 'POST', headers, body });
  await unpaid.arrayBuffer();
  const challenge = decode(unpaid.headers.get('payment-required'));
  const started = performance.now();
  const payments = [];
  const failures = new Map();
  await Promise.all(
    accounts.map(async (account) => {
      while (performance.now() - started < durationMs) {
        const header = await sign(account, challenge);
        const sentAt = performance.now();
        const response = await fetch(`${url}/search`, {
          method: 'POST',
          headers: { ...headers, 'payment-signature': header },
          body,
        });
        await response.arrayBuffer();
        const repliedAt = performance.now();
        const receipt = response.headers.get('payment-response');
        if (response.status === 200 && receipt) {
          payments.push({ sentAt, repliedAt, transaction: decode(receipt).transaction });
        } else {
          const why = receipt ? decode(receipt).errorReason : `status ${response.status}`;
          failures.set(why, (failures.get(why) ?? 0) + 1);
        }
      }
    }),
  );
  return { payments, failures, seconds: (performance.now() - started) / 1000 };
}
