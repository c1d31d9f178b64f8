import type { Clock } from '../../ground/domain/ports.js';
import type { Address } from '../../ground/domain/units.js';
import type { KnownCode } from '../payment/payer-code.js';
import type { SettlementChain } from './chain.js';

/** Accounts whose code is remembered, at about 300 bytes each. */
const KNOWN_MAX = 8192;

/**
 * The code of payers, as it was seen last. It may change at any time (a wallet is deployed, a key
 * delegates, EIP-7702): whoever asks says how old the answer may be.
 */
export class PayerCodes {
  readonly #known = new Map<Address, { readonly code: KnownCode; readonly atMs: number }>();

  constructor(
    private readonly chain: Pick<SettlementChain, 'payerCode'>,
    private readonly clock: Pick<Clock, 'monotonicMs'>,
  ) {}

  /** Somebody has just seen an account's code, or that it has none. */
  note(payer: Address, code: KnownCode): void {
    this.#known.delete(payer);
    const [oldest] = this.#known.keys();
    if (this.#known.size >= KNOWN_MAX && oldest !== undefined) this.#known.delete(oldest);
    this.#known.set(payer, { code, atMs: this.clock.monotonicMs() });
  }

  /** What is known and not older than this; undefined when the chain has to be asked. */
  recall(payer: Address, ageMaxMs: number): KnownCode | undefined {
    const known = this.#known.get(payer);
    return known && this.clock.monotonicMs() - known.atMs <= ageMaxMs ? known.code : undefined;
  }

  /** @throws when the chain has to be asked and does not answer. */
  async of(payer: Address, ageMaxMs: number): Promise<KnownCode> {
    const recalled = this.recall(payer, ageMaxMs);
    if (recalled) return recalled;
    const code = await this.chain.payerCode(payer);
    this.note(payer, code);
    return code;
  }
}
