import { getAddress, hashMessage, recoverMessageAddress } from 'viem';
import { parseAddress, type Address, type Hex } from '../../ground/domain/units.js';
import type { ChainClient } from './client.js';
import { askContract } from './contract-signature.js';

/** What a wallet is asked to sign; the server makes the whole text of it, twice the same. */
interface Claim {
  readonly address: Address;
  readonly nonce: string;
  /** What it is good for, as the wallet shows it: one line of printable ASCII. */
  readonly statement: string;
  readonly issuedAt: Date;
  readonly expiresAt: Date;
}

interface ProofOptions {
  readonly client: Pick<ChainClient, 'request'>;
  readonly chainId: number;
  /** Where people open the console: `https://search.example`. The message is good there only. */
  readonly publicUrl: string;
  /** Whether contracts may sign (ERC-1271, ERC-6492, EIP-7702): that is a question for the chain. */
  readonly contractWallets: boolean;
}

/**
 * Messages by which a wallet shows that it is there, in the form of ERC-4361, and whether one was
 * signed. Wallets compare the domain with the page that asks, and warn when it is another.
 */
export function createWalletProof({ client, chainId, publicUrl, contractWallets }: ProofOptions) {
  const { host } = new URL(publicUrl);
  return {
    /** The text of ERC-4361, "Message Format". */
    messageOf: ({ address, nonce, statement, issuedAt, expiresAt }: Claim): string =>
      [
        `${host} wants you to sign in with your Ethereum account:`,
        getAddress(address),
        '',
        statement,
        '',
        `URI: ${publicUrl}/console/sign-in`,
        'Version: 1',
        `Chain ID: ${chainId}`,
        `Nonce: ${nonce}`,
        `Issued At: ${issuedAt.toISOString()}`,
        `Expiration Time: ${expiresAt.toISOString()}`,
      ].join('\n'),

    /** Whether an address signed a message (EIP-191); `unknown` while the chain is out of reach. */
    async isSigned(
      message: string,
      address: Address,
      signature: Hex,
    ): Promise<'yes' | 'no' | 'unknown'> {
      if ((await signerOf(message, signature)) === address) return 'yes';
      if (!contractWallets) return 'no';
      return askContract(client, { hash: hashMessage(message), address, signature });
    },
  };
}

async function signerOf(message: string, signature: Hex): Promise<Address | undefined> {
  try {
    return parseAddress(await recoverMessageAddress({ message, signature }));
  } catch {
    return undefined;
  }
}
