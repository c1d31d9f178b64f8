import type { Clock, Log } from '../../ground/domain/ports.js';
import type { Bytes32 } from '../../ground/domain/units.js';
import type { ChainBooks, SeenState } from '../channel-books/chain-books.js';
import type { SettlementChain } from '../settlement/chain.js';
import type { ChannelContract } from './contract.js';

export interface WatcherParts {
  readonly chain: Pick<SettlementChain, 'block'>;
  readonly contract: Pick<ChannelContract, 'changed' | 'states'>;
  readonly books: Pick<ChainBooks, 'lastSync' | 'watched' | 'unsafe' | 'recordLook'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Log;
}

/**
 * Brings the books up to what the settlement contract says of our channels. Events only tell which
 * channels to read: what is written down is the contract's own state at one block, so a missed, doubled
 * or undone event can spoil nothing. Events are read again from the safe head on each time.
 *
 * @returns the block that the books now stand at.
 * @throws when the chain or the books do not answer; then the books are as before.
 */
export async function lookAtChannels(parts: WatcherParts): Promise<bigint> {
  const { chain, contract, books, clock, log } = parts;
  const lookedAt = clock.now();
  const head = await chain.block('latest');
  const safe = await chain.block('safe');
  const watched = await books.watched();
  const stale = new Set(await books.unsafe());
  if (watched.length > 0) {
    const sync = await books.lastSync();
    // Before the first look nothing is known: all of them are read.
    const changed = sync
      ? await contract.changed(watched, sync.safeBlock + 1n, head.number)
      : new Set(watched);
    for (const id of changed) stale.add(id);
  }
  const ids: readonly Bytes32[] = [...stale];
  const newest = await contract.states(ids, head.number);
  // An endpoint may have dropped that state, or the contract was not there yet: then nothing is safe
  // that was not safe before.
  const kept = await contract.states(ids, safe.number).catch(() => []);
  const seen = ids.flatMap((channelId, index): SeenState[] => {
    const [state, old] = [newest[index], kept[index]];
    if (!state) return [];
    return [{ channelId, newest: state, ...(old && { safeBalance: old.balance }) }];
  });
  await books.recordLook({ head, safeBlock: safe.number, seen }, lookedAt);
  for (const { channelId, newest: state } of seen) {
    if (state.withdrawal) log.info({ channel: channelId }, 'a payer withdraws from a channel');
  }
  return head.number;
}
