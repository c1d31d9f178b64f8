import { keccak256, toHex } from 'viem';
import type { Address, TransactionHash } from '../../ground/domain/units.js';
import type { Payment } from '../ledger/payment.js';
import { readRevert } from '../payment/revert.js';
import { reasons } from '../x402/reasons.js';
import { trialCall } from './calls.js';
import type { BlockFacts, ChainLog, Receipt } from './chain.js';
import type { SettlementParts } from './parts.js';
import { addressTopic, AUTHORIZATION_USED, transferredBy } from './results.js';
import { canonicalReceipts } from './canonical.js';

/** EIP-3009: `AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce)`. */
const AUTHORIZATION_CANCELED = keccak256(toHex('AuthorizationCanceled(address,bytes32)'));

/** What the chain says about an authorization whose money none of our receipts moved. */
export type Finding =
  /** Somebody made the transfer to the payee: it counts, once. */
  | {
      readonly kind: 'moved';
      readonly transaction: TransactionHash;
      readonly block: Receipt['block'];
    }
  /**
   * It cannot be made under this authorization, for this x402 reason: for good, or as the token and
   * the payer's balance stand now, which a transaction that is under way may yet find otherwise.
   */
  | { readonly kind: 'impossible'; readonly reason: string; readonly isForGood: boolean }
  /** Nothing stands against it: another attempt may succeed. */
  | { readonly kind: 'possible' }
  /** The chain's answers do not fit together yet; ask again after another block. */
  | { readonly kind: 'unclear' };

/** Blocks of one `eth_getLogs`: what the common providers allow. */
const LOG_BLOCKS = 2000n;
/** How far before the reservation a use can lie: clock skew and a lagging endpoint. */
const SKEW_SECONDS = 600;

/** Finds out what became of one open payment, from the chain alone. Asks, decides nothing. */
export async function investigate(
  payment: Payment,
  relayer: Address,
  parts: Pick<SettlementParts, 'chain' | 'settings' | 'clock'>,
): Promise<Finding> {
  const { chain, settings } = parts;
  const { asset, from, nonce, validBefore } = payment.authorization;
  const head = await chain.block('latest');
  const depth = BigInt(settings.confirmations - 1);
  const at = head.number > depth ? head.number - depth : 0n;
  const confirmed = depth === 0n ? head : await chain.block(at);
  if (await chain.isAuthorizationUsed(asset, from, nonce, at)) return findUse(payment, head, parts);
  // The transfer is valid strictly before validBefore (EIP-3009), by the time of its block.
  if (confirmed.timestamp >= validBefore)
    return { kind: 'impossible', reason: reasons.validBefore, isForGood: true };
  // A use in the newest blocks is not confirmed yet; what the token says now may be because of it.
  if (depth > 0n && (await chain.isAuthorizationUsed(asset, from, nonce, head.number)))
    return { kind: 'unclear' };
  const trial = { from: relayer, ...trialCall(payment.authorization) };
  const data = await chain.revertData(trial, head.number);
  if (data === undefined) return { kind: 'possible' };
  const revert = readRevert(data);
  if (!revert || PASSING.has(revert.reason)) return { kind: 'unclear' };
  return { kind: 'impossible', reason: revert.reason, isForGood: false };
}

/**
 * What the simulation may say because of a transfer that the question before did not see yet, when
 * a block came between the two or nodes are apart. Both are asked for by themselves, at a block
 * that has its confirmations.
 */
const PASSING = new Set<string>([reasons.nonceUsed, reasons.validBefore]);

/** The authorization is used up: by a transfer to the payee, or by its cancellation. */
async function findUse(
  payment: Payment,
  head: BlockFacts,
  { chain, clock, settings }: Pick<SettlementParts, 'chain' | 'settings' | 'clock'>,
): Promise<Finding> {
  const { authorization, reservedAt } = payment;
  const ageSeconds = (clock.now() - reservedAt) / 1000 + SKEW_SECONDS;
  const blocks = settings.blockTimeMs > 0 ? (ageSeconds * 1000) / settings.blockTimeMs : Infinity;
  const oldest = Number(head.number) - blocks;
  for (let end = head.number; end >= 0n && Number(end) >= oldest; end -= LOG_BLOCKS) {
    const start = end >= LOG_BLOCKS ? end - LOG_BLOCKS + 1n : 0n;
    const [log] = await chain.logs({
      address: authorization.asset,
      topics: [
        [AUTHORIZATION_USED, AUTHORIZATION_CANCELED],
        [addressTopic(authorization.from)],
        [authorization.nonce],
      ],
      fromBlock: start,
      toBlock: end,
    });
    if (log) return judge(payment, log, await receiptOf(log, chain));
  }
  return { kind: 'unclear' };
}

async function receiptOf(
  log: ChainLog,
  chain: SettlementParts['chain'],
): Promise<Receipt | undefined> {
  const [receipt] = await canonicalReceipts(chain, [log.transactionHash]);
  return receipt;
}

function judge(payment: Payment, log: ChainLog, receipt: Receipt | undefined): Finding {
  if (log.topics[0] === AUTHORIZATION_CANCELED) {
    return { kind: 'impossible', reason: reasons.nonceUsed, isForGood: true };
  }
  if (!receipt?.succeeded || receipt.block.hash !== log.block.hash) return { kind: 'unclear' };
  const [isMoved] = transferredBy([payment.authorization], receipt.logs);
  // A token that marks the use without the transfer cannot be a payment.
  if (!isMoved) return { kind: 'impossible', reason: reasons.transaction, isForGood: true };
  return { kind: 'moved', transaction: receipt.hash, block: receipt.block };
}
