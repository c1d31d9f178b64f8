import { keccak256, stringToHex } from 'viem';
import { bytes32, type Address, type Bytes32 } from '../../../gateway/ground/domain/units.js';
import type { Dice } from '../dice.js';
import { EPOCH_MS } from '../process.js';
import type { Trace } from '../trace.js';
import { copyState, type ChainState, type Emitted, type Environment } from './state.js';
import { execute, type SignedTransaction, type Transaction } from './transactions.js';

export interface MinedLog extends Emitted {
  readonly transaction: Bytes32;
  readonly block: Block;
}

export interface Mined {
  readonly transaction: Transaction;
  readonly succeeded: boolean;
  readonly gasUsed: bigint;
  readonly gasPrice: bigint;
  readonly logs: readonly MinedLog[];
  /** Payers whose code used up all gas that it got. */
  readonly burners: ReadonlySet<Address>;
}

export interface Block {
  readonly number: number;
  readonly hash: Bytes32;
  /** Seconds since the Unix epoch. */
  readonly timestamp: number;
  /** Wei per gas. */
  readonly baseFee: bigint;
  readonly mined: readonly Mined[];
  /** The state at its end. */
  readonly after: ChainState;
}

/** How a node answers to signed bytes that it does not take: a JSON-RPC error's message. */
export type Submission = { readonly hash: Bytes32 } | { readonly error: string };

export const CHAIN_ID = 8453;
/** From one block to the next. */
export const BLOCK_MS = 2000;
const GENESIS = 5000;
/** Blocks from the newest to the newest that reorganizations spare. */
const SAFE_DEPTH = 12;
const NO_HASH = bytes32(`0x${'0'.repeat(64)}`);
export const BASE_FEE = 10_000_000n;

/** What may happen to pending transactions; set by the storm. */
export interface Mempool {
  /** Probability that a block leaves a transaction for the next one. */
  delay: number;
  /** Probability that a transaction is taken and never seen again. */
  drop: number;
  /** Wei per gas that the next blocks ask. */
  baseFee: bigint;
}

/** What nodes show of the block that is still being made; set by the world and the storm. */
export interface Flashblocks {
  isOn: boolean;
  /** Whether such a block has a hash already, which will not be the one it gets. */
  isHashed: boolean;
  /** Probability that a block leaves out what was shown of it. */
  vanish: number;
}

/** The one true chain: what nodes say about it is another question. */
export class Chain {
  readonly blocks: Block[] = [];
  readonly mempool: Mempool = { delay: 0, drop: 0, baseFee: BASE_FEE };
  readonly flashblocks: Flashblocks = { isOn: false, isHashed: false, vanish: 0 };
  /** Everything that was ever shown before its block was made; a transaction may be there twice. */
  readonly everShown: Mined[] = [];
  /** What is shown of the next block, and what is not, by transaction. */
  readonly #shown = new Map<Bytes32, { mined: Mined; block: Block } | undefined>();
  /** While it is on, no block is made. */
  isHalted = false;
  /** Signed transactions that wait, by sender and nonce. */
  readonly #pending = new Map<string, SignedTransaction>();
  #foreign: Transaction[] = [];
  #forks = 0;
  /** Every block that was ever canonical, by its hash. */
  readonly everMade = new Map<Bytes32, Block>();

  constructor(
    genesis: ChainState,
    private readonly dice: Dice,
    private readonly trace: Trace,
    private readonly nowMs: () => number,
  ) {
    const timestamp = EPOCH_MS / 1000 - 2;
    this.#append({
      number: GENESIS,
      hash: bytes32(keccak256(stringToHex('genesis'))),
      timestamp,
      baseFee: BASE_FEE,
      mined: [],
      after: genesis,
    });
  }

  get head(): Block {
    const head = this.blocks.at(-1);
    if (!head) throw new Error('a chain without a genesis');
    return head;
  }

  at(number: number): Block | undefined {
    return this.blocks[number - GENESIS];
  }

  /** The newest safe block, for who sees `head` as the newest. */
  safe(head: Block): Block {
    return this.at(Math.max(GENESIS, head.number - SAFE_DEPTH)) ?? head;
  }

  /** Where a transaction is, as far as a node sees that has no block above `head`. */
  find(hash: Bytes32, head: Block): { mined: Mined; block: Block } | undefined {
    for (let number = head.number; number >= GENESIS; number -= 1) {
      const block = this.at(number);
      const mined = block?.mined.find(({ transaction }) => transaction.hash === hash);
      if (block && mined) return { mined, block };
    }
    return undefined;
  }

  /** What nodes show of a transaction before its block is made: the next in line of its sender. */
  preview(hash: Bytes32): { mined: Mined; block: Block } | undefined {
    const { isOn, isHashed } = this.flashblocks;
    const transaction = [...this.#pending.values()].find((one) => one.hash === hash);
    if (!isOn || this.isHalted || !transaction) return undefined;
    const { number, timestamp, after: before } = this.head;
    const { baseFee } = this.mempool;
    if (transaction.maxFee < baseFee) return undefined;
    if (this.#shown.has(hash)) return this.#shown.get(hash);
    const after = copyState(before);
    const next = { number: number + 1, timestamp: timestamp + 2, baseFee };
    const name = `flashblock ${number + 1}`;
    const blockHash = isHashed ? bytes32(keccak256(stringToHex(name))) : NO_HASH;
    const block: Block = { ...next, hash: blockHash, mined: [], after };
    const [mined] = include(transaction, after, { chainId: CHAIN_ID, ...next }, block);
    const shown = mined && this.dice.chance(0.8) ? { mined, block } : undefined;
    this.#shown.set(hash, shown);
    if (shown) {
      this.everShown.push(shown.mined);
      this.trace.count('tx.preconfirmed', hash);
    }
    return shown;
  }

  /** Takes a foreign transaction for the next block. */
  act(transaction: Transaction): void {
    this.#foreign.push(transaction);
  }

  /** What a node does with signed bytes. */
  submit(transaction: SignedTransaction): Submission {
    const { from, nonce, maxFee, tip, gas, hash } = transaction;
    const state = this.head.after;
    const key = pendingKey(transaction);
    if (nonce < (state.nonces.get(from) ?? 0n)) return { error: 'nonce too low' };
    const waiting = this.#pending.get(key);
    if (waiting?.hash === hash) return { error: 'already known' };
    const isMore = (mine: bigint, theirs: bigint) => mine * 10n >= theirs * 11n;
    if (waiting && !(isMore(maxFee, waiting.maxFee) && isMore(tip, waiting.tip)))
      return { error: 'replacement transaction underpriced' };
    if ((state.ether.get(from) ?? 0n) < gas * maxFee)
      return { error: 'insufficient funds for gas * price + value' };
    if (this.dice.chance(this.mempool.drop)) this.trace.count('tx.dropped', hash);
    else {
      if (waiting) this.trace.count('tx.replaced', hash);
      this.#pending.set(key, transaction);
    }
    return { hash };
  }

  /** Forgets some pending transactions, as full nodes do. */
  evict(): void {
    for (const [key, { hash }] of this.#pending) {
      if (!this.dice.chance(0.7)) continue;
      this.#pending.delete(key);
      this.trace.count('tx.dropped', hash);
    }
  }

  get pendingCount(): number {
    return this.#pending.size;
  }

  makeBlock(): void {
    if (this.isHalted) return;
    const due = Math.floor((EPOCH_MS + this.nowMs()) / 1000);
    this.#mine(Math.max(due, this.head.timestamp + 1));
  }

  /**
   * Replaces the newest blocks by others of the same times. Their transactions wait again, save
   * those that get lost on the way.
   */
  reorganize(depth: number, loss: number): void {
    const back = Math.min(depth, this.blocks.length - 1);
    const gone = this.blocks.splice(this.blocks.length - back, back);
    this.#forks += 1;
    const removed = gone.flatMap(({ mined }) => mined.map(({ transaction }) => transaction));
    for (const transaction of removed) {
      if (this.dice.chance(loss)) this.trace.count('tx.dropped', transaction.hash);
      else if (transaction.kind === 'foreign') this.#foreign.push(transaction);
      else if (!this.#pending.has(pendingKey(transaction)))
        this.#pending.set(pendingKey(transaction), transaction);
    }
    for (const { timestamp } of gone) this.#mine(timestamp);
    this.trace.count('chain.reorg', back, removed.length, this.head.hash);
    if (removed.length > 0) this.trace.count('chain.reorg-of-transactions', removed.length);
  }

  #mine(timestamp: number): void {
    const parent = this.head;
    const number = parent.number + 1;
    const { baseFee } = this.mempool;
    const environment: Environment = { chainId: CHAIN_ID, number, timestamp, baseFee };
    const hash = this.#hashOf(number);
    const chosen = [...this.#choose(parent.after, baseFee)];
    this.#shown.clear();
    const after = chosen.length > 0 ? copyState(parent.after) : parent.after;
    const block: Block = { number, hash, timestamp, baseFee, mined: [], after };
    const mined = chosen.flatMap((transaction) => include(transaction, after, environment, block));
    this.#append(Object.assign(block, { mined }));
    for (const { transaction, succeeded, burners } of mined) {
      this.trace.event('mined', number, transaction.hash, String(succeeded));
      for (const burner of burners) this.trace.count('payer.burned-gas', burner);
      if (transaction.kind === 'signed') this.#pending.delete(pendingKey(transaction));
    }
    for (const [key, { from, nonce }] of this.#pending) {
      if (nonce < (after.nonces.get(from) ?? 0n)) this.#pending.delete(key);
    }
  }

  /** What the next block takes: foreigners before or behind, and every sender's nonces in order. */
  *#choose(state: ChainState, baseFee: bigint): Generator<Transaction> {
    const foreigners = this.#foreign;
    this.#foreign = [];
    const early = foreigners.filter(() => this.dice.chance(0.5));
    yield* early;
    const next = new Map<Address, bigint>();
    const waiting = [...this.#pending.values()].sort((a, b) => Number(a.nonce - b.nonce));
    for (const transaction of waiting) {
      const { from, nonce, maxFee } = transaction;
      const expected = next.get(from) ?? state.nonces.get(from) ?? 0n;
      if (nonce !== expected || maxFee < baseFee) continue;
      const isShown = this.#shown.get(transaction.hash) !== undefined;
      const isLeftOut = isShown && this.dice.chance(this.flashblocks.vanish);
      if (isLeftOut) this.trace.count('tx.preconfirmation-vanished', transaction.hash);
      if (isLeftOut || (!isShown && this.dice.chance(this.mempool.delay))) {
        this.trace.count('tx.delayed', transaction.hash);
        next.set(from, -1n);
        continue;
      }
      next.set(from, nonce + 1n);
      yield transaction;
    }
    yield* foreigners.filter((one) => !early.includes(one));
  }

  #append(block: Block): void {
    this.blocks.push(block);
    this.everMade.set(block.hash, block);
  }

  #hashOf(number: number): Bytes32 {
    return bytes32(keccak256(stringToHex(`block ${number} of fork ${this.#forks}`)));
  }
}

const pendingKey = ({ from, nonce }: SignedTransaction) => `${from} ${nonce}`;

function include(
  transaction: Transaction,
  after: ChainState,
  environment: Environment,
  block: Block,
): Mined[] {
  if (transaction.kind === 'signed') {
    const { from, nonce, gas, maxFee } = transaction;
    const isNext = nonce === (after.nonces.get(from) ?? 0n);
    // A foreigner in the same block may have taken the nonce or the gas money.
    if (!isNext || (after.ether.get(from) ?? 0n) < gas * maxFee) return [];
  }
  const { result, gasUsed, gasPrice, burners } = execute(transaction, after, environment);
  const emitted = result.ok ? result.logs : [];
  const logs = emitted.map((log) => ({ ...log, transaction: transaction.hash, block }));
  return [{ transaction, succeeded: result.ok, gasUsed, gasPrice, logs, burners }];
}
