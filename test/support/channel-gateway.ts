/**
 * A small gateway that sells searches by channels, and by lone payments that it believes blindly. It
 * keeps the rules of `batch-settlement` for vouchers, deposits, corrections and refunds, and has no
 * chain. The SDKs are tried against the real gateway as well; this one can be held up and told to
 * fail.
 */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hashTypedData, recoverAddress } from 'viem';
import {
  batchSettlementDomain,
  batchSettlementTypes,
  channelIdOf,
  type ChannelConfig,
} from '../../contracts-abi/batch-settlement.js';
import { refuse, type RefusalCode } from '../../gateway/ground/domain/refusal.js';
import { channelVectors } from './channel-vectors.js';

type Hex = `0x${string}`;
const { accepted, resource } = channelVectors.wire;
const REASON = 'invalid_batch_settlement_evm_';

interface Payload {
  readonly type: 'deposit' | 'voucher' | 'refund';
  readonly channelConfig: ChannelConfig;
  readonly voucher: { channelId: Hex; maxClaimableAmount: string; signature: Hex };
  readonly deposit?: { readonly amount: string; readonly authorization: object };
  readonly amount?: string;
}

interface Reply {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  /** The connection is cut instead of an answer. */
  readonly isLost?: boolean;
}

interface Books {
  charged: bigint;
  signed: bigint;
  signature: Hex | undefined;
  balance: bigint;
  readonly reserved: Set<bigint>;
  readonly bought: Map<bigint, { readonly body: string; readonly reply: Reply }>;
}

/** What the gateway does with a search that is paid for. */
export type Hold = (body: string, count: number) => Promise<'ok' | 'fail' | 'lose'> | 'ok';

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64');
const max = (a: bigint, b: bigint) => (a > b ? a : b);

export class ChannelGateway {
  url = '';
  hold: Hold = () => 'ok';
  /** Changed fields of the channel's entry in `accepts`. */
  terms: Record<string, unknown> = {};
  window = 64n;
  /** It knows the chain no longer well enough to take vouchers. */
  isBlind = false;
  /** Every voucher of every paid request, in the order of arrival. */
  readonly presented: { readonly type: string; readonly value: bigint; readonly body: string }[] =
    [];
  readonly deposits: bigint[] = [];
  /** Lone payments that were taken. */
  exact = 0;
  challenges = 0;
  readonly channels = new Map<string, Books>();
  close: () => Promise<void> = () => Promise.resolve();

  get price(): bigint {
    return BigInt(this.entry.amount as string);
  }

  get entry(): Record<string, unknown> {
    return { ...accepted, payTo: '0x1111111111111111111111111111111111111111', ...this.terms };
  }

  /** The only channel. */
  get books(): Books {
    const [books] = this.channels.values();
    if (!books) throw new Error('no channel was opened');
    return books;
  }

  state(id: Hex, { charged, balance }: Pick<Books, 'charged' | 'balance'>) {
    return {
      ...{ channelId: id, balance: String(balance), totalClaimed: '0', withdrawRequestedAt: 0 },
      ...{ refundNonce: '0', chargedCumulativeAmount: String(charged) },
    };
  }

  refuse(
    code: RefusalCode,
    reason?: string,
    about?: { id: Hex; books: Books },
    receipt?: string,
  ): Reply {
    const { status, detail } = refuse(code, `refused with ${code}`);
    const { signed, signature } = about?.books ?? { signed: 0n, signature: undefined };
    const correction = about && {
      channelState: this.state(about.id, about.books),
      ...(signature && { voucherState: { signedMaxClaimable: String(signed), signature } }),
    };
    const extra = { ...(this.entry.extra as object), ...correction };
    const { payTo, asset, network, amount } = this.entry;
    const domain = { name: 'USD Coin', version: '2' };
    const exact = { scheme: 'exact', network, amount, asset, payTo, maxTimeoutSeconds: 300 };
    const accepts = [
      { ...exact, extra: domain },
      { ...this.entry, extra },
    ];
    const error = reason ?? 'payment required';
    if (reason === undefined) this.challenges += 1;
    return {
      status,
      headers: {
        ...(status === 402 && {
          'payment-required': encode({ x402Version: 2, error, resource, accepts }),
        }),
        ...(receipt !== undefined && { 'payment-response': receipt }),
      },
      body: JSON.stringify({ title: code, status, detail, requestId: randomUUID(), code }),
    };
  }

  invalid(reason: string, about?: { id: Hex; books: Books }, receipt?: string): Reply {
    return this.refuse('payment_invalid', `${REASON}${reason}`, about, receipt);
  }

  async handle(request: IncomingMessage): Promise<Reply> {
    let text = '';
    for await (const chunk of request) text += String(chunk);
    const header = request.headers['payment-signature'];
    if (header === undefined) return this.refuse('payment_required');
    const { accepted: echoed, payload } = JSON.parse(
      Buffer.from(String(header), 'base64').toString(),
    ) as { accepted: { scheme: string; extra: object }; payload: Payload };
    if (echoed.scheme === 'exact') {
      this.exact += 1;
      const receipt = {
        success: true,
        transaction: `0x${'ee'.repeat(32)}`,
        network: 'eip155:8453',
      };
      return this.results({ ...receipt, payer: '0x' });
    }
    const { channelConfig, voucher } = payload;
    const id = channelIdOf(channelConfig, 8453);
    const value = BigInt(voucher.maxClaimableAmount);
    this.presented.push({ type: payload.type, value, body: text });
    if (id !== voucher.channelId) return this.invalid('channel_id_mismatch');
    if (channelConfig.receiver !== this.entry.payTo) return this.invalid('receiver_mismatch');
    if (this.isBlind && payload.type === 'voucher') return this.refuse('payments_unavailable');
    if ((echoed as { amount?: string }).amount !== this.entry.amount) {
      return this.refuse('payment_invalid', 'No matching payment requirements');
    }
    if (!(await isSigned(payload))) return this.invalid('voucher_signature');
    const books = this.channels.get(id) ?? {
      ...{ charged: 0n, signed: 0n, signature: undefined, balance: 0n },
      ...{ reserved: new Set<bigint>(), bought: new Map<bigint, never>() },
    };
    if (payload.type === 'refund') return this.#refund(id, books, payload);
    return this.#search(id, books, payload, value, text);
  }

  async #search(id: Hex, books: Books, payload: Payload, value: bigint, text: string) {
    const { voucher, deposit } = payload;
    const about = { id, books };
    const before = books.bought.get(value);
    if (before?.body === text) return before.reply;
    const receiptOf = before?.reply.headers?.['payment-response'];
    if (before) return this.invalid('cumulative_amount_mismatch', about, receiptOf);
    const deposited = BigInt(deposit?.amount ?? 0);
    const isUnknown = books.balance === 0n && books.charged === 0n;
    if (isUnknown && !deposit) return this.invalid('channel_not_found');
    if (books.reserved.has(value)) return this.invalid('channel_busy', about);
    const signed = max(books.signed, value);
    if (books.charged + this.price > signed || value > books.charged + this.window * this.price) {
      return this.invalid('cumulative_amount_mismatch', about);
    }
    if (books.charged + this.price * BigInt(books.reserved.size + 1) > signed) {
      return this.invalid('channel_busy', about);
    }
    if (signed > books.balance + deposited)
      return this.invalid('cumulative_exceeds_balance', about);
    if (value > books.signed) [books.signed, books.signature] = [value, voucher.signature];
    books.reserved.add(value);
    this.channels.set(id, books);
    const end = await this.hold(text, this.presented.length);
    books.reserved.delete(value);
    if (end === 'fail') return this.refuse('upstream_error');
    books.charged += this.price;
    books.balance += deposited;
    if (deposit) this.deposits.push(deposited);
    const reply = this.results({
      ...{ success: true, network: 'eip155:8453', payer: payload.channelConfig.payer },
      transaction: deposit ? `0x${'dd'.repeat(32)}` : '',
      amount: deposit?.amount ?? '',
      extra: { chargedAmount: String(this.price), channelState: this.state(id, books) },
    });
    books.bought.set(value, { body: text, reply });
    return end === 'lose' ? { ...reply, isLost: true } : reply;
  }

  #refund(id: Hex, books: Books, { amount, channelConfig, voucher }: Payload): Reply {
    const left = books.balance - books.charged;
    if (BigInt(voucher.maxClaimableAmount) !== books.charged) {
      return this.invalid('cumulative_amount_mismatch', { id, books });
    }
    if (left <= 0n) return this.invalid('refund_no_balance', { id, books });
    const wanted = amount === undefined ? left : BigInt(amount);
    const given = wanted < left ? wanted : left;
    books.balance -= given;
    const receipt = {
      ...{ success: true, network: 'eip155:8453', payer: channelConfig.payer },
      ...{ transaction: `0x${'cc'.repeat(32)}`, amount: String(given) },
      extra: { channelState: this.state(id, books) },
    };
    return { status: 200, headers: { 'payment-response': encode(receipt) }, body: '{}' };
  }

  results(receipt: object): Reply {
    const item = { title: 'Kestrels', url: 'https://birds.example/', description: 'They hover.' };
    const result = {
      ...{ results: [item], totalResults: 1 },
      searchMetadata: { query: 'kestrel', executionTime: 0.001 },
    };
    const body = JSON.stringify({ requestId: randomUUID(), result });
    return { status: 200, headers: { 'payment-response': encode(receipt) }, body };
  }
}

async function isSigned({ channelConfig, voucher }: Payload): Promise<boolean> {
  const hash = hashTypedData({
    domain: batchSettlementDomain(8453),
    types: batchSettlementTypes,
    primaryType: 'Voucher',
    message: {
      channelId: voucher.channelId,
      maxClaimableAmount: BigInt(voucher.maxClaimableAmount),
    },
  });
  const signer = await recoverAddress({ hash, signature: voucher.signature });
  return signer.toLowerCase() === channelConfig.payerAuthorizer;
}

export async function startChannelGateway(): Promise<ChannelGateway> {
  const gateway = new ChannelGateway();
  const server = createServer((request, response) => {
    void gateway.handle(request).then(({ status, headers, body, isLost }) => {
      if (isLost === true) {
        response.destroy();
        return;
      }
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  gateway.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  gateway.close = async () => {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  };
  return gateway;
}
