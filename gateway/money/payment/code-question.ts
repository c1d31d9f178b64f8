import { address, type Address, type Hex } from '../../ground/domain/units.js';
import { isOverload, RpcError } from '../chain/errors.js';

/** What is asked of the chain for it. */
export interface CodeChain {
  /** Runs the code given, as `eth_call` does without `to`. */
  ethRun(code: Hex, options: { deadlineMs: number }): Promise<Hex>;
  /** `eth_getCode`. */
  ethCode(account: Address, options: { deadlineMs: number }): Promise<Hex>;
}

/**
 * Replaces each 32-byte word behind it, an account, with the hash of the code that the account has
 * (EIP-1052): 0 for no account, `EMPTY` for one without code.
 *
 *   PUSH1 33  DUP1  CODESIZE  SUB  DUP1  SWAP2  PUSH0  CODECOPY   memory = what follows
 *   PUSH0  JUMPDEST  DUP2  DUP2  LT  ISZERO  PUSH1 29  JUMPI      for i = 0; i < length; i += 32
 *   DUP1  MLOAD  EXTCODEHASH  DUP2  MSTORE                          memory[i] = codehash(memory[i])
 *   PUSH1 32  ADD  PUSH1 10  JUMP
 *   JUMPDEST  POP  PUSH0  RETURN
 */
export const CODE_HASHES: Hex =
  '0x602180380380915f395f5b81811015601d5780513f8152602001600a565b505ff3';
/** keccak256 of nothing (EIP-1052). */
const EMPTY = 'c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470';
const NOTHING = '0'.repeat(64);

/** Accounts in one call: 8 KB, and less than a million gas. */
const TOGETHER_MAX = 256;

/** Which accounts have code, in as few calls as the endpoint allows. */
export interface CodeQuestion {
  /** Accounts that one call answers for, now. */
  accountsMax(): number;
  /** Answers in the same order, for all or for only the first ones. Rejects like the chain does. */
  ask(accounts: readonly Address[]): Promise<readonly boolean[]>;
}

/**
 * Asks for many accounts in one `eth_call` without `to`. Some providers refuse that, and chains from
 * before Shanghai do not know the code. It is tried once: when `eth_getCode` is answered where it was
 * refused, that is used from then on, for one account each time.
 */
export function createCodeQuestion(chain: CodeChain, deadlineMs: number): CodeQuestion {
  let way: 'together' | 'alone' = 'together';
  const askAlone = async ([first]: readonly Address[]): Promise<readonly boolean[]> =>
    first ? [(await chain.ethCode(first, { deadlineMs })) !== '0x'] : [];
  return {
    accountsMax: () => (way === 'together' ? TOGETHER_MAX : 1),
    ask: async (accounts) => {
      if (way === 'alone') return askAlone(accounts);
      const answers = await askTogether(chain, accounts, deadlineMs).catch((error: unknown) => {
        if (error instanceof RpcError && !isOverload(error)) return undefined;
        throw error;
      });
      if (answers) return answers;
      const alone = await askAlone(accounts);
      way = 'alone';
      return alone;
    },
  };
}

/** What a call returns must not begin with 0xef (EIP-3541), as a hash may: the zero account does not. */
const FIRST = address(`0x${'00'.repeat(20)}`);

/** Undefined where something else is returned: some nodes answer a call without `to` with nothing. */
async function askTogether(
  chain: CodeChain,
  accounts: readonly Address[],
  deadlineMs: number,
): Promise<readonly boolean[] | undefined> {
  const words = [FIRST, ...accounts].map((account) => account.slice(2).padStart(64, '0'));
  const returned = await chain.ethRun(`${CODE_HASHES}${words.join('')}`, { deadlineMs });
  if (returned.length !== 2 + words.length * 64) return undefined;
  return accounts.map((_, index) => {
    const from = 2 + (index + 1) * 64;
    const hash = returned.slice(from, from + 64).toLowerCase();
    return hash !== NOTHING && hash !== EMPTY;
  });
}
