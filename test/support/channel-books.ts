import { randomBytes } from 'node:crypto';
import { address, bytes32, usdcUnits, type Bytes32 } from '../../gateway/ground/domain/units.js';
import type { Store } from '../../gateway/ground/store/store.js';
import { ChannelBooks, type CheckedVoucher } from '../../gateway/money/channel-books/books.js';
import { ChainBooks } from '../../gateway/money/channel-books/chain-books.js';
import { CHANNEL_MIGRATIONS } from '../../gateway/money/channel-books/migrations.js';
import { LEDGER_MIGRATIONS } from '../../gateway/money/ledger/migrations.js';
import { BINDING } from './payments.js';
import { realClock } from './ports.js';

/** The tables that the books of channels need. */
export const CHANNEL_BOOK_MIGRATIONS = [...LEDGER_MIGRATIONS, ...CHANNEL_MIGRATIONS];

const CHAIN = 8453;
const random = (bytes: number) => `0x${randomBytes(bytes).toString('hex')}`;

/** One gateway's books of channels; its searches last a minute at the most unless said otherwise. */
export function channelBooks(store: Store, owner: string, searchMsMax = 60_000): ChannelBooks {
  return new ChannelBooks({
    ...{ store, owner, searchMsMax, clock: realClock, chainId: CHAIN },
    claimMarginMs: 3_600_000,
  });
}

/** A channel that is open with this balance, all of it safe. */
export async function openChannel(store: Store, balance: bigint): Promise<Bytes32> {
  const id = bytes32(random(32));
  const payer = address(random(20));
  await channelBooks(store, 'opener').open(id, {
    ...{ payer, payerAuthorizer: payer, withdrawDelay: 86_400, salt: bytes32(random(32)) },
    receiver: address(random(20)),
    receiverAuthorizer: address(random(20)),
    token: address(random(20)),
  });
  const state = { balance: usdcUnits(balance), claimed: usdcUnits(0n), refundNonce: 0n };
  const seen = [{ channelId: id, newest: state, safeBalance: state.balance }];
  const head = { number: 1n, hash: bytes32(random(32)) };
  const look = { head, safeBlock: 1n, seen };
  await new ChainBooks(store, realClock, CHAIN).recordLook(look, realClock.now());
  return id;
}

/** A voucher at 50 units a search, with room for 64 ahead. */
export function voucherOf(
  channelId: Bytes32,
  cumulative: bigint,
  more: Partial<CheckedVoucher> = {},
): CheckedVoucher {
  return {
    ...{ channelId, cumulative, binding: BINDING, requestId: random(8) },
    ...{ signature: '0x01', price: 50n, window: 3200n, deposit: 0n, unsafeMax: 0n },
    ...more,
  };
}
