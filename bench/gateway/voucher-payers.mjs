// Payers with channels in a closed loop: sign a voucher, send it, wait for the reply, again. They
// remember the challenge, so that each search is one round trip, and sign by libsecp256k1 in
// WebAssembly, so that little of the machine goes into signing.
import { performance } from 'node:perf_hooks';
import { secp256k1 } from '@bitauth/libauth';
import { hashTypedData, hexToBytes } from 'viem';
import {
  batchSettlementDomain,
  batchSettlementTypes,
  channelIdOf,
  DEPOSIT_COLLECTOR_ADDRESS,
  depositNonce,
} from '../../dist/contracts-abi/batch-settlement.js';
import { authorizationTypes } from '../../dist/contracts-abi/usdc.js';

const decode = (header) => JSON.parse(Buffer.from(header, 'base64').toString());
const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64');
const JSON_TYPE = { 'content-type': 'application/json' };
export const BODY = JSON.stringify({ query: 'sign typed data', maxResults: 5 });

/** A channel of this payer: opened by a deposit, which pays for a first search. */
export async function openChannel(url, payer, deposit) {
  const unpaid = await fetch(`${url}/search`, { method: 'POST', headers: JSON_TYPE, body: BODY });
  await unpaid.arrayBuffer();
  const challenge = decode(unpaid.headers.get('payment-required'));
  const accepted = challenge.accepts.find(({ scheme }) => scheme === 'batch-settlement');
  const chainId = Number(accepted.network.split(':')[1]);
  const config = {
    payer: payer.account.address,
    payerAuthorizer: payer.account.address,
    receiver: accepted.payTo,
    receiverAuthorizer: accepted.extra.receiverAuthorizer,
    token: accepted.asset,
    withdrawDelay: accepted.extra.withdrawDelay,
    salt: `0x${'0'.repeat(64)}`,
  };
  const channel = {
    ...{ url, chainId, config, accepted, resource: challenge.resource },
    id: channelIdOf(config, chainId),
    privateKey: hexToBytes(payer.privateKey),
    price: BigInt(accepted.amount),
    signed: 0n,
  };
  const salt = BigInt(Date.now());
  const validBefore = BigInt(Math.floor(Date.now() / 1000) + accepted.maxTimeoutSeconds);
  const { name, version } = accepted.extra;
  const signature = await payer.account.signTypedData({
    domain: { name, version, chainId, verifyingContract: accepted.asset },
    types: authorizationTypes,
    primaryType: 'ReceiveWithAuthorization',
    message: {
      from: config.payer,
      to: DEPOSIT_COLLECTOR_ADDRESS,
      value: deposit,
      validAfter: 0n,
      validBefore,
      nonce: depositNonce(channel.id, salt),
    },
  });
  const authorization = {
    validAfter: '0',
    validBefore: validBefore.toString(),
    salt: `0x${salt.toString(16).padStart(64, '0')}`,
    signature,
  };
  const answer = await present(channel, {
    type: 'deposit',
    deposit: {
      amount: deposit.toString(),
      authorization: { erc3009Authorization: authorization },
    },
  });
  if (answer.status !== 200) throw new Error(`a deposit was refused: ${answer.status}`);
  return { ...channel, signed: channel.price, depositedBy: answer.receipt.transaction };
}

/** Signs the channel's next voucher and sends it. */
async function present(channel, payload) {
  const { url, config, accepted, resource } = channel;
  channel.signed += channel.price;
  const voucher = {
    channelId: channel.id,
    maxClaimableAmount: channel.signed.toString(),
    signature: sign(channel),
  };
  const header = encode({
    ...{ x402Version: 2, resource, accepted },
    payload: { channelConfig: config, voucher, ...payload },
  });
  const response = await fetch(`${url}/search`, {
    method: 'POST',
    headers: { ...JSON_TYPE, 'payment-signature': header },
    body: BODY,
  });
  await response.arrayBuffer();
  const receipt = response.headers.get('payment-response');
  return { status: response.status, receipt: receipt && decode(receipt) };
}

function sign({ id, chainId, signed, privateKey }) {
  const digest = hashTypedData({
    domain: batchSettlementDomain(chainId),
    types: batchSettlementTypes,
    primaryType: 'Voucher',
    message: { channelId: id, maxClaimableAmount: signed },
  });
  const compact = secp256k1.signMessageHashRecoverableCompact(privateKey, hexToBytes(digest));
  const { signature, recoveryId } = compact;
  return `0x${Buffer.from(signature).toString('hex')}${(27 + recoveryId).toString(16)}`;
}

/** Lets every channel pay, one search after the other: for so long, or for so many searches each. */
export function payByVoucher(channels, { durationMs = Infinity, searches = Infinity }) {
  return loop(channels, { durationMs, searches }, (channel) =>
    present(channel, { type: 'voucher' }),
  );
}

/** The same with a bearer key: what a search costs without any payment. */
export function payByKey(url, apiKey, callers, { durationMs = Infinity, searches = Infinity }) {
  const headers = { ...JSON_TYPE, authorization: `Bearer ${apiKey}` };
  return loop(Array.from({ length: callers }), { durationMs, searches }, async () => {
    const response = await fetch(`${url}/search`, { method: 'POST', headers, body: BODY });
    await response.arrayBuffer();
    return response;
  });
}

async function loop(callers, { durationMs, searches }, ask) {
  const started = performance.now();
  const latencies = [];
  const failures = new Map();
  await Promise.all(
    callers.map(async (caller) => {
      for (let made = 0; made < searches && performance.now() - started < durationMs; made += 1) {
        const sentAt = performance.now();
        const { status } = await ask(caller);
        if (status === 200) latencies.push(performance.now() - sentAt);
        else {
          failures.set(status, (failures.get(status) ?? 0) + 1);
          // The voucher has bought nothing: the next one takes its place.
          if (caller) caller.signed -= caller.price;
        }
      }
    }),
  );
  return { latencies, failures, seconds: (performance.now() - started) / 1000 };
}
