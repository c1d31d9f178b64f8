import { hexToBytes } from 'viem';
import {
  CAPPED_BATCH_DEPLOYMENT,
  DEPLOYMENT_PROXY_ADDRESS,
} from '../../../contracts-abi/capped-batch.js';
import { address } from '../../ground/domain/units.js';
import { CAPPED_BATCH } from '../payment/payer-code.js';
import type { BatchContract, Call } from './calls.js';
import type { Lane } from './lane.js';
import type { SettlementParts } from './parts.js';

/** Room for the contract's 921 bytes at 200 gas each, and for its creation. */
const DEPLOYMENT: Call = {
  to: address(DEPLOYMENT_PROXY_ADDRESS),
  data: hexToBytes(CAPPED_BATCH_DEPLOYMENT),
  gasLimit: 600_000n,
};
/** A deployment that has come to nothing is tried again after so long. */
const RETRY_MS = 600_000;

/**
 * Which contract transfers share a transaction through. Where ours is not deployed yet, the first
 * relayer with a free place deploys it, once for everybody; until then Multicall3 does.
 */
export class BatchDeployment {
  #through: BatchContract = 'multicall3';
  #triedAtMs = -Infinity;

  constructor(
    private readonly parts: Pick<SettlementParts, 'chain' | 'clock' | 'log'>,
    private readonly lanes: readonly Lane[],
  ) {}

  get through(): BatchContract {
    return this.#through;
  }

  /** Looks whether the contract is there, and has it deployed where it can be. */
  async look(): Promise<void> {
    const { chain, clock, log } = this.parts;
    if (this.#through === 'capped-batch') return;
    const { kind } = await chain.payerCode(CAPPED_BATCH);
    if (kind === 'code') {
      this.#through = 'capped-batch';
      return;
    }
    const lane = this.lanes.find((one) => one.isFree);
    if (!lane || clock.monotonicMs() - this.#triedAtMs < RETRY_MS) return;
    this.#triedAtMs = clock.monotonicMs();
    if ((await chain.payerCode(DEPLOYMENT.to)).kind === 'none') {
      log.warn({}, 'this chain has no deployment proxy: payments share transactions by Multicall3');
      return;
    }
    if (!lane.isFree) return;
    log.info({ relayer: lane.address, contract: CAPPED_BATCH }, 'deploying the batch contract');
    await lane.carry({ purpose: 'deployment', call: DEPLOYMENT, payments: [] });
  }
}
