import { channelIn, callSettlement } from '../chain/channel-contract.js';
import { copyState } from '../chain/state.js';
import { usdcUnits, type Hex } from '../../../gateway/ground/domain/units.js';
import { brokenInvariants } from '../../../gateway/money/channels/rules.js';
import { claimData } from '../../../gateway/money/claims/calls.js';
import type { ChannelCustomers, ChannelWorld } from './lives.js';
import { AUTHORIZER, PRICE, WITHDRAW_DELAY_SECONDS, type ChannelWallet } from './wallet.js';

interface CheckParts extends Pick<ChannelWorld, 'chain' | 'disk' | 'trace' | 'violation'> {
  readonly customers: ChannelCustomers;
  /** What may be spent of a deposit before its block is safe: no more is lost with it. */
  readonly unsafeMax: bigint;
}

/** A channel in the books. */
interface Books {
  readonly charged: bigint;
  readonly signed: bigint;
  readonly signature: string | null;
  readonly floor: bigint;
}

const booksOf = ({ disk }: CheckParts, { channelId }: ChannelWallet): Books | undefined =>
  disk.query(`select * from channels where id = '${channelId}'`)[0] as unknown as Books | undefined;

/** Everything that must hold of the channels of a world that has come to rest. */
export async function checkChannels(parts: CheckParts): Promise<void> {
  checkPurchases(parts);
  for (const wallet of parts.customers.wallets) {
    const books = booksOf(parts, wallet);
    if (!books) continue;
    checkCharges(parts, wallet, books);
    await checkMoney(parts, wallet, books);
  }
  for (const { wallet, charged, claimed } of parts.customers.finished.values()) {
    if (claimed < charged && !isLostDeposit(parts, wallet))
      parts.violation(`C3: ${wallet.name} withdrew with ${charged} charged and ${claimed} claimed`);
  }
}

/** C1: (channel, cumulative) buys at most one search, and gives its reply for no other. */
function checkPurchases({ customers, violation }: CheckParts): void {
  const bodies = new Map<string, string>();
  for (const { wallet, cumulative, query, body } of customers.purchases) {
    const voucher = `${wallet.name} ${cumulative}`;
    const known = bodies.get(voucher) ?? body;
    bodies.set(voucher, known);
    if (known !== body) violation(`C1: ${voucher} was answered as two searches`);
    if ((JSON.parse(body) as { query: string }).query !== query)
      violation(`C1: ${voucher} was answered with another search`);
  }
}

/** C2: what was delivered was charged, once, and nothing else was. */
function checkCharges(parts: CheckParts, wallet: ChannelWallet, { charged }: Books): void {
  const { disk, customers, violation } = parts;
  const rows = disk.query(
    `select cumulative, price, charged_at from channel_vouchers where channel_id = '${wallet.channelId}'`,
  );
  const paid = rows.filter((row) => row.charged_at !== null);
  const sum = paid.reduce((total, { price }) => total + (price as bigint), 0n);
  if (sum !== charged) violation(`C2: ${wallet.name} was charged ${charged} for ${sum}`);
  const bought = new Set(paid.map(({ cumulative }) => cumulative));
  for (const { wallet: buyer, cumulative } of customers.purchases) {
    if (buyer.name === wallet.name && !bought.has(cumulative))
      violation(`C2: ${wallet.name} got a search for ${cumulative} that was not charged`);
  }
}

/** Money that a reorganization took back with its deposit, as far as it was risked on purpose. */
function isLostDeposit(parts: CheckParts, wallet: ChannelWallet): boolean {
  const books = booksOf(parts, wallet);
  const { balance } = channelIn(parts.chain.head.after, wallet.channelId);
  const isLost =
    parts.trace.counts.has('chain.reorg') &&
    books !== undefined &&
    books.charged > balance &&
    books.charged - balance <= parts.unsafeMax + PRICE;
  if (isLost) parts.trace.count('channel.lost-by-reorg', wallet.name);
  return isLost;
}

/** Whether a deposit of this payer was given back or failed, and its voucher with it. */
const hasLostDeposit = ({ disk }: CheckParts, { config }: ChannelWallet): boolean =>
  disk.query(
    `select 1 from payments where payer = '${config.payer}'
      and (failed_at is not null or released_at is not null) limit 1`,
  ).length > 0;

/**
 * C4: claimed ≤ charged ≤ highest signed ≤ deposited − refunded − withdrawn. What was signed and not
 * charged leaves with a refund or a withdrawal, or never came, with its deposit: then the last one holds
 * for what was charged.
 * C5: the contract takes the kept signature for everything that is not claimed yet.
 */
async function checkMoney(parts: CheckParts, wallet: ChannelWallet, books: Books): Promise<void> {
  const { chain, violation, trace } = parts;
  const state = chain.head.after;
  const { balance, claimed, refundNonce } = channelIn(state, wallet.channelId);
  const { charged, signed, signature } = books;
  const hasLeft =
    refundNonce > 0n ||
    hasLostDeposit(parts, wallet) ||
    [...parts.customers.finished.values()].some((one) => one.wallet.name === wallet.name);
  if (isLostDeposit(parts, wallet)) return;
  const broken = brokenInvariants({
    charged: usdcUnits(charged),
    signed: usdcUnits(hasLeft ? charged : signed),
    onChain: { balance: usdcUnits(balance), claimed: usdcUnits(claimed), refundNonce },
  });
  for (const what of broken) violation(`C4: ${wallet.name} breaks ${what}`);
  if (charged > signed) violation(`C4: ${wallet.name} breaks charged ≤ highest signed`);
  if (charged <= claimed) return;
  trace.count('channel.unclaimed', wallet.name);
  const entry = {
    channelId: wallet.channelId,
    maxClaimableAmount: signed,
    totalClaimed: charged,
  };
  const channel = { id: wallet.channelId, config: wallet.config, signed: usdcUnits(signed) };
  const row = { channel: channel as never, signature: signature as Hex, totalClaimed: charged };
  const data = claimData([row], await AUTHORIZER.signClaims([entry]));
  const { number, timestamp, baseFee } = chain.head;
  const environment = { chainId: 8453, number, timestamp, baseFee };
  if (!callSettlement(copyState(state), data, environment).ok)
    violation(`C5: what ${wallet.name} was charged cannot be claimed`);
}

/** Milliseconds between a block and the look that must have seen it, at worst. */
const LOOK_MS_MAX = 60_000;

/**
 * C6: no voucher is taken in the last third of a withdrawal's delay, which is left for claiming.
 * Watches as time goes on: returns what is to be called once in each block.
 */
export function watchAcceptance({
  chain,
  disk,
  violation,
  customers,
}: Pick<CheckParts, 'chain' | 'disk' | 'violation' | 'customers'>): () => void {
  const seen = new Map<string, number>();
  return () => {
    const { after, timestamp } = chain.head;
    for (const { channelId, name } of customers.wallets) {
      const { withdrawal } = channelIn(after, channelId);
      if (!withdrawal) {
        seen.delete(channelId);
        continue;
      }
      const [row] = disk.query(
        `select count(*) as taken from channel_vouchers
          where channel_id = '${channelId}' and payment_id is null`,
      );
      const taken = Number(row?.taken ?? 0);
      const before = seen.get(channelId) ?? taken;
      seen.set(channelId, taken);
      if (taken <= before) continue;
      const elapsedMs = (timestamp - withdrawal.initiatedAt) * 1000;
      const allowedMs = (WITHDRAW_DELAY_SECONDS * 2000) / 3 + LOOK_MS_MAX;
      if (elapsedMs > allowedMs)
        violation(`C6: a voucher of ${name} was taken ${elapsedMs} ms into its withdrawal`);
    }
  };
}
