import { addressTopic, AUTHORIZATION_USED } from '../../gateway/money/settlement/results.js';
import type { Chain } from './chain/chain.js';
import type { Delivery } from './customers.js';

/**
 * Checks a delivery at its own moment (I2): the chain of that time has, or had, the transfer; or it
 * was shown in a block in the making, where that is enough.
 */
export function checkDelivery(
  chain: Chain,
  delivery: Delivery,
  { isShownEnough }: { isShownEnough: boolean },
): string | undefined {
  const { payment, transaction } = delivery;
  const { from, to, value, nonce } = payment.authorization;
  const shown = isShownEnough ? chain.everShown : [];
  for (const mined of [shown, ...[...chain.everMade.values()].map((block) => block.mined)]) {
    for (const { transaction: one, logs } of mined) {
      if (one.hash !== transaction) continue;
      const used = logs.findIndex(
        ({ topics: [event, payer, what] }) =>
          event === AUTHORIZATION_USED && payer === addressTopic(from) && what === nonce,
      );
      const transfer = used < 0 ? undefined : logs[used + 1];
      const [, sender, receiver] = transfer?.topics ?? [];
      const isPaid =
        sender === addressTopic(from) &&
        receiver === addressTopic(to) &&
        BigInt(transfer?.data ?? '0x0') === value;
      if (isPaid) return undefined;
    }
  }
  return `I2: ${payment.name} was delivered without its transfer in ${transaction}`;
}
