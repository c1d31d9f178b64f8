import type { Address } from '../../ground/domain/units.js';
import type { SignedAuthorization } from './authorization.js';
import { createBatcher, type Company } from './batch.js';
import type { ChainAnswer } from './on-chain.js';

/** Authorizations in one `eth_call`: about 100,000 gas each, and public endpoints allow 50 million. */
const BATCH_MAX = 32;
/** Verifications that wait for the chain in each lane; more are told to come back. */
const QUEUE_MAX = 1024;
/** Calls at the same time in each lane, so that a slow one does not hold everybody up. */
const CALLS_MAX = 4;
/**
 * Where payments come together, as they do when payers wait for the same blocks, a question waits
 * this long for company: less than a batch of transfers is gathered for afterwards.
 */
const GATHER_MS = 50;
/** Some blocks: for so long after a shared question, company is expected. */
const EXPECT_MS = 6000;
/** Payers that are asked about alone because of what happened to a round that they were in. */
const SUSPECTS_MAX = 4096;

/** Asks the chain about some authorizations in one call. */
export type Ask = (
  authorizations: readonly SignedAuthorization[],
) => Promise<readonly ChainAnswer[]>;

/** Asks about one authorization; undefined when too many are waiting. */
type AskOne = (
  authorization: SignedAuthorization,
  signer: 'key' | 'contract',
) => Promise<ChainAnswer | undefined>;

/**
 * Lets concurrent questions to the chain share calls, without letting a payer spoil its
 * neighbours' answers.
 *
 * A payer that is a contract runs code of its own in the simulation, and that code may burn all gas
 * of the call it is in. Contracts are therefore asked about alone. An account that signs with its
 * key may have code too (EIP-7702): when a shared round leaves somebody without an answer, that one
 * is asked about again alone, and when a whole round is lost, its payers go alone the next time.
 */
export function createRounds(ask: Ask, clock: Company['clock']): AskOne {
  const suspects = new Set<Address>();
  const suspect = (payers: readonly Address[]) => {
    for (const payer of payers) suspects.add(payer);
    for (const payer of suspects) {
      if (suspects.size <= SUSPECTS_MAX) break;
      suspects.delete(payer);
    }
  };

  const askShared: Ask = async (authorizations) => {
    try {
      return await ask(authorizations);
    } catch (error) {
      if (authorizations.length > 1) suspect(authorizations.map(({ from }) => from));
      throw error;
    }
  };
  const limits = { queueMax: QUEUE_MAX, runningMax: CALLS_MAX };
  const company = { clock, gatherMs: GATHER_MS, expectMs: EXPECT_MS };
  const together = createBatcher(askShared, { ...limits, batchMax: BATCH_MAX, company });
  const alone = createBatcher(ask, { ...limits, batchMax: 1 });

  return async (authorization, signer) => {
    const { from } = authorization;
    if (signer === 'key' && !suspects.has(from)) {
      const answer = await together(authorization);
      if (answer?.kind !== 'silent') return answer;
      suspect([from]);
    }
    const answer = await alone(authorization);
    if (answer && answer.kind !== 'silent') suspects.delete(from);
    return answer;
  };
}
