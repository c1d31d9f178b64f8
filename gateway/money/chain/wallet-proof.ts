import { hashMessage, recoverMessageAddress } from 'viem';
import { parseAddress, type Address, type Hex } from '../../ground/domain/units.js';
import type { ChainClient } from './client.js';
import { askContract } from './contract-signature.js';
import { signInMessage } from './sign-in-message.js';

/** What a wallet is asked to sign; the server makes the whole text of it, twice the same. */
interface Claim {
  readonly address: Address;
  readonly nonce: string;
  /** What it is good for, as the wallet shows it: one line of printable ASCII. */
  readonly statement: string;
  readonly issuedAt: Date;
  readonly expiresAt: Date;
}

interface CheckOptions {
  readonly client: Pick<ChainClient, 'request'>;
  /** Whether contracts may sign (ERC-1271, ERC-6492, EIP-7702): that is a question for the chain. */
  readonly contractWallets: boolean;
}

interface ProofOptions extends CheckOptions {
  readonly chainId: number;
  /** Where people open the console: `https://search.example`. The message is good there only. */
  readonly publicUrl: string;
}

/** Whether an address signed a message (EIP-191). */
export interface SignatureCheck {
  /** By its own key; costs no question to the chain. */
  byKey(message: string, address: Address, signature: Hex): Promise<boolean>;
  /** As a contract: one question to the chain. `unknown` while that is out of reach. */
  byContract(message: string, address: Address, signature: Hex): Promise<'yes' | 'no' | 'unknown'>;
}

export function createSignatureCheck({ client, contractWallets }: CheckOptions): SignatureCheck {
  return {
    byKey: async (message, address, signature) => (await signerOf(message, signature)) === address,
    byContract: async (message, address, signature) =>
      contractWallets
        ? askContract(client, { hash: hashMessage(message), address, signature })
        : 'no',
  };
}

/**
 * Messages by which a wallet shows that it is there, in the form of ERC-4361, and whether one was
 * signed. Wallets compare the domain with the page that asks, and warn when it is another.
 */
export function createWalletProof({ chainId, publicUrl, ...options }: ProofOptions) {
  const { host } = new URL(publicUrl);
  const check = createSignatureCheck(options);
  return {
    messageOf: (claim: Claim): string =>
      signInMessage({ ...claim, host, chainId, uri: `${publicUrl}/console/sign-in` }),

    /** `unknown` while only the chain could tell and it is out of reach. */
    isSigned: async (
      message: string,
      address: Address,
      signature: Hex,
    ): Promise<'yes' | 'no' | 'unknown'> =>
      (await check.byKey(message, address, signature))
        ? 'yes'
        : check.byContract(message, address, signature),
  };
}

async function signerOf(message: string, signature: Hex): Promise<Address | undefined> {
  try {
    return parseAddress(await recoverMessageAddress({ message, signature }));
  } catch {
    return undefined;
  }
}
