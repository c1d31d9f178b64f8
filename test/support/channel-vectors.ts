import { readFileSync } from 'node:fs';
import type { ChannelConfig } from '../../contracts-abi/batch-settlement.js';

type Hex = `0x${string}`;
type Amounts<Names extends string> = Readonly<Record<Names, string>>;

/** One channel of the vectors, with everything that is signed for it. */
export interface ChannelVector {
  readonly name: string;
  readonly chainId: number;
  readonly payerKey: Hex;
  readonly voucherKey: Hex;
  readonly authorizerKey: Hex;
  readonly config: ChannelConfig;
  readonly channelId: Hex;
  readonly vouchers: readonly {
    readonly maxClaimableAmount: string;
    readonly digest: Hex;
    readonly signature: Hex;
  }[];
  readonly deposit: Amounts<'amount' | 'validAfter' | 'validBefore'> & {
    readonly salt: Hex;
    readonly tokenDomain: { readonly name: string; readonly version: string };
    readonly nonce: Hex;
    readonly digest: Hex;
    readonly signature: Hex;
    readonly collectorData: Hex;
  };
  readonly refund: Amounts<'nonce' | 'amount'> & {
    readonly digest: Hex;
    readonly signature: Hex;
  };
  readonly claim: {
    readonly rows: readonly Amounts<'maxClaimableAmount' | 'totalClaimed'>[];
    readonly digest: Hex;
    readonly signature: Hex;
  };
}

/** What a corrective 402 says, and what a payer may believe of it. */
export interface CorrectionVector {
  readonly name: string;
  readonly extra: Readonly<Record<string, unknown>>;
  readonly adopted: Amounts<'charged' | 'highest' | 'balance'> | null;
  readonly next?: string;
}

/** What a payer signs, step by step. */
export interface SigningVector {
  readonly name: string;
  readonly price: string;
  readonly steps: readonly (
    | { readonly sign: string }
    | { readonly charged: string; readonly amount?: string }
    | { readonly failed: string }
  )[];
}

/** `docs/vectors/batch-settlement.json`, as it is published. */
export interface ChannelVectors {
  readonly contracts: {
    readonly settlement: Hex;
    readonly depositCollector: Hex;
    readonly token: Hex;
  };
  readonly channels: readonly ChannelVector[];
  readonly wire: {
    readonly accepted: Readonly<Record<string, unknown>>;
    readonly resource: Readonly<Record<string, unknown>>;
    readonly payloads: readonly {
      readonly payload: Readonly<Record<string, unknown>>;
      readonly header: string;
    }[];
    readonly receipts: readonly {
      readonly after: string;
      readonly object: Readonly<Record<string, unknown>>;
      readonly header: string;
    }[];
  };
  readonly corrections: readonly CorrectionVector[];
  readonly signing: readonly SigningVector[];
}

export const channelVectors = JSON.parse(
  readFileSync('docs/vectors/batch-settlement.json', 'utf8'),
) as ChannelVectors;
