import type { Invocation } from './args.js';
import { walletClient } from './commands.js';
import { printable, toJson, UsageError, type Io } from './io.js';

/** `search402 pack` */
export async function pack(invocation: Invocation, io: Io): Promise<void> {
  const [wanted, ...more] = invocation.words;
  if (more.length > 0) throw new UsageError(`"${more.join(' ')}" is too much for "pack"`);
  if (wanted !== undefined && !/^[1-9][0-9]{0,8}$/.test(wanted))
    throw new UsageError('how many searches? a whole number');
  const searches = wanted === undefined ? {} : { searches: Number(wanted) };
  const bought = await walletClient(invocation, io).buyPack(searches);
  if (invocation.json) {
    io.out(toJson(bought));
    return;
  }
  io.out(printable(bought.key));
  io.out(
    `   ${bought.searches} searches for ${printable(bought.amountUsd)} USD, until ${printable(bought.expiresAt)}`,
  );
  io.out('   Set SEARCH402_API_KEY to it, and use "search402 search".');
}
