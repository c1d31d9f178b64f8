import { describe, expect, test } from '@jest/globals';
import { encodeErrorResult, parseAbi } from 'viem';
import {
  address,
  bytes32,
  unixMillis,
  unixSeconds,
  usdcUnits,
} from '../../../gateway/ground/domain/units.js';
import type { Payment } from '../../../gateway/money/ledger/payment.js';
import type { SettlementChain } from '../../../gateway/money/settlement/chain.js';
import { investigate } from '../../../gateway/money/settlement/resolver.js';
import { SETTLEMENT_DEFAULTS } from '../../../gateway/money/settlement/settings.js';
import { realClock } from '../../support/ports.js';

const ABI = parseAbi(['error Error(string)']);
const HEAD = 1000n;
const NOW = 2_000_000_000;
const RELAYER = address(`0x${'77'.repeat(20)}`);

const payment: Payment = {
  id: 'one',
  authorization: {
    chainId: 8453,
    asset: address(`0x${'11'.repeat(20)}`),
    from: address(`0x${'22'.repeat(20)}`),
    to: address(`0x${'33'.repeat(20)}`),
    value: usdcUnits(50n),
    validAfter: unixSeconds(0),
    validBefore: unixSeconds(NOW + 100),
    nonce: bytes32(`0x${'44'.repeat(32)}`),
    signature: `0x${'55'.repeat(65)}`,
  },
  binding: '0x00',
  status: 'broadcast',
  facts: { reservedAt: unixMillis(NOW * 1000) },
  reservedAt: unixMillis(NOW * 1000),
  requestId: 'request',
  owner: 'gateway',
  failedCalls: 0,
};

/** A chain on which the authorization is used from a block on and the simulation says this. */
function finding(usedFrom: bigint, simulation: string | undefined, confirmations = 1) {
  const asked: bigint[] = [];
  const chain = {
    block: (which: unknown) =>
      Promise.resolve({
        number: typeof which === 'bigint' ? which : HEAD,
        timestamp: unixSeconds(NOW),
        baseFee: 1n,
      }),
    isAuthorizationUsed: (_asset: unknown, _from: unknown, _nonce: unknown, block: bigint) =>
      Promise.resolve(block >= usedFrom),
    revertData: (_call: unknown, block: bigint) => {
      asked.push(block);
      if (simulation === undefined) return Promise.resolve(undefined);
      const data = encodeErrorResult({ abi: ABI, errorName: 'Error', args: [simulation] });
      return Promise.resolve(data);
    },
  } as unknown as SettlementChain;
  const settings = { ...SETTLEMENT_DEFAULTS, confirmations };
  return { asked, found: investigate(payment, RELAYER, { chain, settings, clock: realClock }) };
}

describe('what became of a payment', () => {
  test.each([
    'FiatTokenV2: authorization is used or canceled',
    'FiatTokenV2: authorization is expired',
  ])('is not decided by a simulation that is ahead: %s', async (text) => {
    expect(await finding(HEAD + 1n, text).found).toEqual({ kind: 'unclear' });
  });

  test('is not decided while a use waits for its confirmations', async () => {
    const { asked, found } = finding(HEAD, 'Pausable: paused', 2);
    expect(await found).toEqual({ kind: 'unclear' });
    expect(asked).toEqual([]);
  });

  test('is simulated in the block in which its use was asked for', async () => {
    const { asked, found } = finding(HEAD + 1n, undefined);
    expect(await found).toEqual({ kind: 'possible' });
    expect(asked).toEqual([HEAD]);
  });

  test('fails where the token refuses an authorization that is not used', async () => {
    const { found } = finding(HEAD + 1n, 'ERC20: transfer amount exceeds balance');
    expect(await found).toEqual({
      kind: 'impossible',
      reason: 'invalid_exact_evm_insufficient_balance',
      isForGood: false,
    });
  });
});
