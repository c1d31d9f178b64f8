import { z } from 'zod';
import {
  WITHDRAW_DELAY_SECONDS_MAX,
  WITHDRAW_DELAY_SECONDS_MIN,
} from '../../contracts-abi/batch-settlement.js';
import {
  account,
  accounts,
  httpUrl,
  integer,
  privateKey,
  rpcUrls,
  secrets,
  switched,
  usd,
  webSocketUrl,
} from '../ground/setting-kinds.js';

/** Settings of payments: the chain, who moves the money, and prices. */
export const MONEY_SETTINGS = {
  /** JSON-RPC endpoints of Base, comma-separated. */
  RPC_URLS: rpcUrls.optional(),
  /** WebSocket endpoint of Base that announces new blocks, so that they need not be polled for. */
  RPC_WS_URL: webSocketUrl.optional(),
  /** The address that receives the payments. */
  PAY_TO: account.optional(),
  /** Key that sends the transfers and pays their gas; or a file that holds it. */
  RELAYER_PRIVATE_KEY: privateKey.optional(),
  RELAYER_PRIVATE_KEY_FILE: z.string().min(1).optional(),
  /** File with the passphrase, where RELAYER_PRIVATE_KEY_FILE is an encrypted key file. */
  RELAYER_PASSPHRASE_FILE: z.string().min(1).optional(),
  /** A signer that holds the keys: JSON-RPC `eth_signTransaction`, as Web3Signer and Clef have it. */
  RELAYER_SIGNER_URL: httpUrl.optional(),
  /** The accounts that it signs for, comma-separated. */
  RELAYER_ADDRESSES: accounts,
  /** A facilitator that moves the money in place of an own relayer (x402 `/verify`, `/settle`). */
  FACILITATOR_URL: httpUrl.optional(),
  /** Its bearer token, where it wants one. */
  FACILITATOR_TOKEN: z
    .string()
    .regex(/^[\x21-\x7e]{1,4096}$/, 'must be printable characters without spaces')
    .optional(),
  /** Milliseconds for one settlement by it. */
  FACILITATOR_TIMEOUT_MS: integer(1000, 180_000, 30_000),
  /** File with the addresses whose payments are not taken, one a line. */
  PAYER_DENY_FILE: z.string().min(1).optional(),
  /** Price of a search paid per request, in USD. */
  PRICE_USD: usd('0.00005'),
  /** Whether the live cost of settlement is added to PRICE_USD, as signed quotes. */
  PRICE_COVERS_GAS: switched('off'),
  /** Chainlink's feed of ETH in USD, read instead of ETH_USD where the price covers the gas. */
  ETH_USD_FEED: account.optional(),
  /** Signs quotes; gateways of one installation share it. Without it one is drawn at each start. */
  QUOTE_SECRET: secrets.optional(),
  /** Whether wallets that are contracts may pay and sign in (ERC-1271, ERC-6492, EIP-7702). */
  CONTRACT_WALLETS: switched('on'),
  /** Gas that all payers with code together may burn in an hour; they are refused above it. */
  CODE_PAYER_GAS_PER_HOUR: integer(0, 1_000_000_000, 5_000_000),
  /** Factories whose wallets the relayer deploys when they first pay (ERC-6492), comma-separated. */
  EIP6492_FACTORIES: accounts,
  /** ETH in USD, to warn at start when the price cannot cover the gas. */
  ETH_USD: z.coerce.number().positive().max(1e7).default(3000),
  /** Seconds for which a quote and the authorization signed for it are valid. */
  PAYMENT_TIMEOUT_SECONDS: integer(30, 86_400, 300),
  /** Blocks, the transaction's own included, until a payment counts as settled. */
  CONFIRMATIONS: integer(1, 64, 1),
  /** Whether a transfer in a block that is still being made (a flashblock) is enough to reply. */
  PRECONFIRMATIONS: switched('off'),
  /** Milliseconds a caller waits for its settlement before it is told `settlement_pending`. */
  SETTLEMENT_WAIT_MS: integer(100, 120_000, 20_000),
  /** Seconds for which the reply to a settled payment can be fetched again. */
  REPLY_RETENTION_SECONDS: integer(60, 604_800, 3600),
  /** Whether channels are open: a deposit, then a signed voucher for each search. */
  CHANNELS: switched('off'),
  /** Seconds from the start of a payer's withdrawal until it can finish: we claim within them. */
  CHANNEL_WITHDRAW_DELAY_SECONDS: integer(
    WITHDRAW_DELAY_SECONDS_MIN,
    WITHDRAW_DELAY_SECONDS_MAX,
    86_400,
  ),
  /** The least deposit into a channel, in USD; more where gas asks for more. */
  CHANNEL_MIN_DEPOSIT_USD: usd('0.05'),
  /** What may be spent of a deposit before its block is safe, in USD. */
  CHANNEL_UNSAFE_USD: usd('0.01'),
  /** Searches for which a payer may sign ahead: as many may be in flight on one channel. */
  CHANNEL_WINDOW: integer(1, 1024, 64),
  /** The share of a channel's money that its gas may cost, in hundredths: it decides when to claim. */
  CHANNEL_COST_PERCENT: integer(1, 100, 5),
  /** Seconds that a charged search waits for its claim at the most, where the claim pays for itself. */
  CHANNEL_CLAIM_SECONDS: integer(60, 31_536_000, 604_800),
  /** Whether receipts are signed (x402 extension `offer-receipt`). */
  SIGNED_RECEIPTS: switched('on'),
  /** Whether quotes are signed as well: the header of a 402 is then longer than some proxies take. */
  SIGNED_OFFERS: switched('off'),
  /** Whether version 1 of x402 is spoken as well. */
  X402_V1: switched('off'),
} as const;
