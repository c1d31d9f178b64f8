import { expect, test } from '@jest/globals';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { unpaidWork } from '../../gateway/customers/limits/unpaid.js';
import { address, bytes32, unixSeconds, type Hex } from '../../gateway/ground/domain/units.js';
import {
  createStatusProofCheck,
  statusProofDigest,
} from '../../gateway/money/payment/status-proof.js';
import { createPaymentInquiry } from '../../gateway/search/payment-status.js';
import { handClock } from '../support/accounts.js';

/** One address may ask the chain 20 questions a second, five seconds of them at once. */
const RATE = 100;
const ADDRESS = '192.0.2.1';
const NONCE = bytes32(`0x${'5e'.repeat(32)}`);
const SERVICE = { chainId: 8453, audience: 'http://localhost:0' };

/** Payers ask from one address until `ends`; what they are told, and how often the chain is asked. */
function givenInquiry() {
  let questions = 0;
  const clock = handClock();
  const work = unpaidWork(clock, RATE);
  const client = {
    request: () => {
      questions += 1;
      return Promise.resolve('0x');
    },
  };
  const inquiry = createPaymentInquiry({
    clock,
    checkProof: createStatusProofCheck({ client, ...SERVICE, contractWallets: true }),
    keyOf: ({ payer: from, nonce }) => ({ ...{ chainId: 8453, asset: from, from, nonce } }),
    find: () => Promise.resolve(undefined),
    bought: () => Promise.resolve(undefined),
    authorizationState: () => {
      questions += 1;
      return Promise.resolve(undefined);
    },
  });
  const account = privateKeyToAccount(generatePrivateKey());
  const proofFor = async (payer: Hex) => {
    const proof = {
      payer: address(payer.toLowerCase()),
      nonce: NONCE,
      issuedAt: unixSeconds(Math.floor(clock.now() / 1000)),
    };
    const signature = await account.sign({ hash: statusProofDigest(proof, SERVICE) });
    return Buffer.from(JSON.stringify({ ...proof, signature })).toString('base64');
  };
  const ask = async (how: 'status' | 'reply', proof: string, from = ADDRESS) => {
    const answer = await inquiry[how](NONCE, proof, work.chainAllowance(from));
    return 'code' in answer ? answer.code : 'told';
  };
  const askOften = async (how: 'status' | 'reply', proof: string) => {
    const answers: string[] = [];
    while (answers.length < 200) answers.push(await ask(how, proof));
    return answers;
  };
  return { clock, account, proofFor, ask, askOften, questions: () => questions };
}

test.each(['status', 'reply'] as const)(
  'who sends wrong signatures to ask for the %s causes 101 questions to the chain, then none',
  async (how) => {
    const { clock, proofFor, ask, askOften, questions } = givenInquiry();
    const wrong = await proofFor(`0x${'ab'.repeat(20)}`);
    const answers = await askOften(how, wrong);
    expect(answers.indexOf('rate_limited')).toBe(101);
    expect(new Set(answers.slice(101))).toEqual(new Set(['rate_limited']));
    expect(questions()).toBe(101);
    expect(await ask(how, wrong, '192.0.2.2')).toBe('invalid_payment_proof');
    clock.move(1000);
    expect(await ask(how, wrong)).toBe('invalid_payment_proof');
  },
);

test('a payer’s own questions about the chain are bounded alike; its reply asks the chain nothing', async () => {
  const { account, proofFor, ask, askOften, questions } = givenInquiry();
  const proof = await proofFor(account.address);
  const answers = await askOften('status', proof);
  expect(answers.indexOf('rate_limited')).toBe(101);
  expect(questions()).toBe(101);
  expect(await ask('reply', proof)).toBe('not_found');
});
