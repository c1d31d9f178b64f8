import { z } from 'zod';
import { address, bytes32 } from '../../ground/domain/units.js';
import type { Deposit } from '../payment/authorization.js';

const account = z.string().transform(address);

const depositSchema = z.object({
  channel: z.object({
    payer: account,
    payerAuthorizer: account,
    receiver: account,
    receiverAuthorizer: account,
    token: account,
    withdrawDelay: z.number(),
    salt: z.string().transform(bytes32),
  }),
  salt: z.string().transform(BigInt),
});

/** A deposit as one column of the books. */
export function writeDeposit({ channel, salt }: Deposit): string {
  return JSON.stringify({ channel, salt: salt.toString() });
}

/** @throws when the books hold anything else. */
export function readDeposit(text: string): Deposit {
  return depositSchema.parse(JSON.parse(text));
}
