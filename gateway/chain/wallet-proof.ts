import { createPublicClient, custom, getAddress, recoverMessageAddress } from 'viem';
import { parseAddress, type Address, type Hex } from '../domain/units.js';
import { ChainUnreachable, type ChainClient } from './client.js';

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

/** Longest time for one question to the chain, in milliseconds. */
const DEADLINE_MS = 3_000;

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
      return contractWallets ? askContract(client, { message, address, signature }) : 'no';
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

/** Runs the contract's own check, of a wallet not yet deployed too, in an `eth_call`. */
async function askContract(
  client: Pick<ChainClient, 'request'>,
  signed: { message: string; address: Address; signature: Hex },
): Promise<'yes' | 'no' | 'unknown'> {
  const failures: unknown[] = [];
  const request = async ({ method, params }: { method: string; params?: unknown }) => {
    try {
      return await client.request(method, Array.isArray(params) ? params : [], {
        deadlineMs: DEADLINE_MS,
      });
    } catch (error) {
      failures.push(error);
      throw error;
    }
  };
  const viem = createPublicClient({ transport: custom({ request }, { retryCount: 0 }) });
  try {
    if (await viem.verifyMessage(signed)) return 'yes';
  } catch {
    // What is no signature at all is no signature of this wallet either.
  }
  return failures.some((error) => error instanceof ChainUnreachable) ? 'unknown' : 'no';
}
