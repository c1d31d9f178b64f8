import { expect, test } from '@jest/globals';
import { mnemonicToAccount, privateKeyToAddress } from 'viem/accounts';
import { devAccounts } from '../../gateway/dev/accounts.js';
import { isPublicAccount } from '../../gateway/dev/public-accounts.js';
import { address } from '../../gateway/ground/domain/units.js';

const MNEMONIC = 'test test test test test test test test test test test junk';

test('the accounts of anvil, Hardhat and our own development chain are known as public', () => {
  const tools = Array.from(
    { length: 20 },
    (_, addressIndex) => mnemonicToAccount(MNEMONIC, { addressIndex }).address,
  );
  const own = [devAccounts.payerAddress, devAccounts.relayerAddress, devAccounts.payTo];
  for (const account of [...tools, ...own]) {
    expect([account, isPublicAccount(address(account))]).toEqual([account, true]);
  }
  expect(isPublicAccount(address(privateKeyToAddress(`0x${'11'.repeat(32)}`)))).toBe(false);
});
