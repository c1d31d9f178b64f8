/** The official client of search402. Runs in Node 20 and newer and in browsers. */
export { Search402, type Payments } from './client.js';
export type { ChangedOptions, ClientOptions } from './options.js';
export type { SearchOutcome } from './call.js';
export { ReceiptError, verifyReceipt } from './receipt.js';
export type { ReceiptClaims, ReceiptExpectations, VerifiedReceipt } from './receipt.js';
export type { SearchPromise } from './search-promise.js';
export type { Logger, LogLevel } from './log.js';
export type { MergedResult, SearchManyParams, SearchManyResponse } from './many.js';
export type { RequestOptions, SearchParams, SearchResponse, SearchResultItem } from './types.js';
export * from './errors.js';
export type { Pack, PackParams } from './packs.js';
export type { Channels, ChannelView, ClosedChannel } from './channel/channels.js';
export type { ChannelStatus } from './channel/entry.js';
export { BASE_MAINNET, BASE_USDC } from './payment/challenge.js';
export type { AllowLists } from './payment/challenge.js';
export type { Caps } from './payment/caps.js';
export { formatUsd, parseMoney, type Money } from './payment/money.js';
export type { PaymentOptions } from './payment/payer.js';
export type { PaymentRecord, PaymentStatus, Quote } from './payment/record.js';
export { MemoryStore } from './payment/store.js';
export type { PaymentStore, Spent, StoreView } from './payment/store-view.js';
export type { Hex } from './hex.js';
export type {
  AccountWallet,
  DepositTypedData,
  ProviderWallet,
  SignedData,
  StatusTypedData,
  TypedData,
  VoucherTypedData,
  Wallet,
} from './payment/wallet.js';
export { VERSION } from './version.js';
