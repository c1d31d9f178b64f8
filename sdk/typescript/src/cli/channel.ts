import type { ChannelView } from '../channel/channels.js';
import { formatUsd, parseMoney } from '../payment/money.js';
import type { Invocation } from './args.js';
import { walletClient } from './commands.js';
import { toJson, UsageError, type Io } from './io.js';

/** `search402 channel open|list|close` */
export async function channel(invocation: Invocation, io: Io): Promise<void> {
  const [action, ...more] = invocation.words;
  if (more.length > 0) throw new UsageError(`"${more.join(' ')}" is too much for "channel"`);
  switch (action) {
    case 'open':
      await open(invocation, io);
      return;
    case 'list':
      await list(invocation, io);
      return;
    case 'close':
      await close(invocation, io);
      return;
    default:
      throw new UsageError('what should be done with channels? open, list or close');
  }
}

async function open(invocation: Invocation, io: Io): Promise<void> {
  const { deposit } = invocation.values;
  if (deposit !== undefined) checkMoney(deposit);
  const opened = await walletClient(invocation, io).channels.open({ deposit });
  if (invocation.json) io.out(toJson(opened));
  else show(opened, io);
}

async function list(invocation: Invocation, io: Io): Promise<void> {
  const all = await walletClient(invocation, io).channels.list();
  if (invocation.json) {
    io.out(toJson(all));
    return;
  }
  if (all.length === 0) io.out('no channels; "search402 channel open" makes one');
  for (const one of all) show(one, io);
}

async function close(invocation: Invocation, io: Io): Promise<void> {
  const { id } = invocation.values;
  const closed = await walletClient(invocation, io).channels.close({ id });
  if (invocation.json) {
    io.out(toJson(closed));
    return;
  }
  if (closed.length === 0) io.out('no channel is open');
  for (const { channel: after, refundedUnits, transaction } of closed) {
    const where = transaction === undefined ? '' : `, transaction ${transaction}`;
    io.out(`${after.id}: ${formatUsd(refundedUnits)} USD came back${where}`);
  }
}

function show(one: ChannelView, io: Io): void {
  const searches = one.priceUnits === 0n ? 0n : one.leftUnits / one.priceUnits;
  io.out(`${one.id} ${one.status}`);
  io.out(
    `   ${formatUsd(one.leftUnits)} of ${formatUsd(one.balanceUnits)} USD left, ${searches} searches`,
  );
  io.out(
    `   payee ${one.payTo}, withdrawal takes ${one.withdrawDelaySeconds} s without the service`,
  );
}

function checkMoney(text: string): void {
  try {
    parseMoney(text);
  } catch (error) {
    throw new UsageError(`--deposit: ${(error as Error).message}`);
  }
}
