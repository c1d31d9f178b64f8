/**
 * A small gateway that keeps the protocol: it quotes, verifies EIP-3009 signatures for real,
 * settles each authorization once, and answers the same payment with the same reply. Its `moves`
 * make it behave badly on purpose. The SDKs are tried against the real gateway as well; this one
 * can be told to lie.
 */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { verifyTypedData, type Hex } from 'viem';
import { authorizationTypes } from '../../contracts-abi/usdc.js';
import { refuse, type RefusalCode } from '../../gateway/ground/domain/refusal.js';

const USDC = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913';
export const GOOD_KEY = 's402_test_good_key_for_the_sdk_tests';

/** What the gateway does with the next request that carries a well-signed payment. */
export type Move =
  /** Accepts it, settles it, and says 503 `settlement_pending`. */
  | 'pending'
  /** Gives up before any broadcast: 402 `settlement_failed` with a receipt. */
  | 'fail'
  /** Settles it, keeps no reply, and says that the nonce was used. */
  | 'forget'
  /** Settles it, and claims that settlement failed. */
  | 'lie'
  /** Answers 402 `payment_invalid` for an expired window. */
  | 'expired'
  /** Answers 402 `payment_invalid` for an empty wallet. */
  | 'poor'
  | { readonly code: RefusalCode; readonly retryAfter?: number };

interface Transfer {
  readonly nonce: string;
  readonly from: string;
  readonly amountUnits: number;
}

export interface TestGateway {
  readonly url: string;
  readonly moves: Move[];
  /** What moved on chain, in order. */
  readonly transfers: Transfer[];
  /** Challenges that were sent. */
  challenges: number;
  /** Changed fields of the one item in `accepts`. */
  terms: Record<string, unknown>;
  forgetReplies(): void;
  close(): Promise<void>;
}

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64');

interface Payment {
  readonly accepted: unknown;
  readonly payload: {
    readonly signature: Hex;
    readonly authorization: {
      readonly from: Hex;
      readonly to: Hex;
      readonly value: string;
      readonly validAfter: string;
      readonly validBefore: string;
      readonly nonce: Hex;
    };
  };
}

interface Reply {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

class Gateway implements TestGateway {
  url = '';
  readonly moves: Move[] = [];
  readonly transfers: Transfer[] = [];
  challenges = 0;
  terms: Record<string, unknown> = {};
  close: () => Promise<void> = () => Promise.resolve();
  /** Keeps no reply of the past, as after the retention time. */
  readonly forgetReplies = (): void => this.#replies.clear();
  readonly #replies = new Map<string, { binding: string; body: string }>();

  get requirement() {
    return {
      scheme: 'exact',
      network: 'eip155:8453',
      amount: '50',
      asset: USDC,
      payTo: '0x1111111111111111111111111111111111111111',
      maxTimeoutSeconds: 300,
      extra: { name: 'USD Coin', version: '2' },
      ...this.terms,
    };
  }

  refuse(
    code: RefusalCode,
    more: { reason?: string; retryAfter?: number; receipt?: object; challenge?: boolean } = {},
  ): Reply {
    const { status, detail } = refuse(code, `refused with ${code}`);
    const headers: Record<string, string> = {};
    if (status === 402 && more.challenge !== false) {
      this.challenges += 1;
      headers['payment-required'] = encode({
        x402Version: 2,
        error: more.reason ?? 'payment required',
        resource: { url: `${this.url}/search` },
        accepts: [this.requirement],
      });
    }
    if (more.receipt) headers['payment-response'] = encode(more.receipt);
    if (more.retryAfter !== undefined) headers['retry-after'] = String(more.retryAfter);
    const requestId = randomUUID();
    const body = JSON.stringify({ title: code, status, detail, requestId, code });
    return { status, headers, body };
  }

  reply(body: string, receipt?: object): Reply {
    return { status: 200, headers: receipt ? { 'payment-response': encode(receipt) } : {}, body };
  }

  async handle(request: IncomingMessage): Promise<Reply> {
    let text = '';
    for await (const chunk of request) text += String(chunk);
    if (request.url !== '/search') return this.refuse('not_found');
    const body = JSON.parse(text) as Record<string, unknown>;
    const { authorization } = request.headers;
    const isKeyed = authorization !== undefined;
    if (isKeyed && authorization !== `Bearer ${GOOD_KEY}`) return this.refuse('invalid_api_key');
    const unknown = Object.keys(body).find(
      (name) => !['query', 'maxResults', 'maxDescriptionLength'].includes(name),
    );
    if (unknown !== undefined) return this.refuse('unsupported_parameter');
    if (typeof body.query !== 'string') return this.refuse('invalid_parameter');
    if (isKeyed) {
      const move = this.moves.shift();
      if (typeof move !== 'object') return this.reply(this.resultsFor(body));
      const more = move.retryAfter === undefined ? {} : { retryAfter: move.retryAfter };
      return this.refuse(move.code, { ...more, challenge: false });
    }
    const header = request.headers['payment-signature'];
    if (header === undefined) return this.refuse('payment_required');
    return await this.pay(String(header), text, body);
  }

  async pay(header: string, text: string, body: Record<string, unknown>): Promise<Reply> {
    const payment = JSON.parse(Buffer.from(header, 'base64').toString()) as Payment;
    const { from, nonce, value } = payment.payload.authorization;
    const reason = await this.verify(payment);
    if (reason !== undefined) return this.refuse('payment_invalid', { reason });
    const receipt = { success: true, transaction: nonce, network: 'eip155:8453', payer: from };
    const before = this.#replies.get(nonce);
    const move = this.moves.shift();
    if (before && before.binding !== text) {
      return this.refuse('authorization_bound_to_other_request');
    }
    if (move === 'pending') {
      if (!before) this.settle(nonce, from, value, text, body);
      return this.refuse('settlement_pending', { retryAfter: 0 });
    }
    if (before) return this.reply(before.body, receipt);
    const failed = { success: false, transaction: '', network: 'eip155:8453', errorReason: '' };
    switch (move) {
      case 'lie':
      case 'fail': {
        if (move === 'lie') this.transfers.push({ nonce, from, amountUnits: Number(value) });
        const errorReason = 'invalid_exact_evm_transaction_failed';
        return this.refuse('settlement_failed', {
          receipt: { ...failed, errorReason },
        });
      }
      case 'forget': {
        this.transfers.push({ nonce, from, amountUnits: Number(value) });
        const used = 'invalid_exact_evm_nonce_already_used';
        return this.refuse('payment_invalid', { reason: used });
      }
      case 'expired': {
        const expired = 'invalid_exact_evm_payload_authorization_valid_before';
        return this.refuse('payment_invalid', { reason: expired });
      }
      case 'poor': {
        const poor = 'invalid_exact_evm_insufficient_balance';
        return this.refuse('payment_invalid', { reason: poor });
      }
      case undefined:
        this.settle(nonce, from, value, text, body);
        return this.reply(this.#replies.get(nonce)?.body ?? '', receipt);
      default: {
        const more = move.retryAfter === undefined ? {} : { retryAfter: move.retryAfter };
        return this.refuse(move.code, more);
      }
    }
  }

  settle(nonce: string, from: string, value: string, binding: string, body: object): void {
    this.transfers.push({ nonce, from, amountUnits: Number(value) });
    this.#replies.set(nonce, { binding, body: this.resultsFor(body) });
  }

  async verify(payment: Payment): Promise<string | undefined> {
    const { authorization, signature } = payment.payload;
    const { requirement } = this;
    const nowSeconds = Date.now() / 1000;
    if (JSON.stringify(payment.accepted) !== JSON.stringify(requirement)) return 'no_match';
    if (authorization.value !== requirement.amount) return 'value_mismatch';
    if (authorization.to.toLowerCase() !== requirement.payTo.toLowerCase()) return 'recipient';
    if (Number(authorization.validBefore) < nowSeconds + 6) return 'valid_before';
    if (Number(authorization.validBefore) > nowSeconds + 302) return 'valid_before_too_far';
    if (Number(authorization.validAfter) > nowSeconds) return 'valid_after';
    const isGood = await verifyTypedData({
      address: authorization.from,
      domain: { ...requirement.extra, chainId: 8453, verifyingContract: USDC },
      types: authorizationTypes,
      primaryType: 'TransferWithAuthorization',
      message: {
        ...authorization,
        value: BigInt(authorization.value),
        validAfter: BigInt(authorization.validAfter),
        validBefore: BigInt(authorization.validBefore),
      },
      signature,
    });
    return isGood ? undefined : 'invalid_exact_evm_signature';
  }

  resultsFor(body: { query?: unknown; maxResults?: unknown }): string {
    const query = String(body.query);
    const count = typeof body.maxResults === 'number' ? body.maxResults : 3;
    const results = Array.from({ length: count }, (_, i) => ({
      title: `${query} ${i + 1}`,
      url: i === 0 ? 'https://example.com/shared' : `https://example.com/${query}/${i + 1}`,
      description: `All about ${query}. `.repeat(20),
    }));
    return JSON.stringify({
      requestId: randomUUID(),
      result: { results, searchMetadata: { executionTime: 0.001 }, totalResults: count },
    });
  }
}

export async function startTestGateway(): Promise<TestGateway> {
  const gateway = new Gateway();
  const server = createServer((request, response) => {
    gateway.handle(request).then(
      ({ status, headers, body }) => {
        response.writeHead(status, { 'content-type': 'application/json', ...headers });
        response.end(body);
      },
      () => request.socket.destroy(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  gateway.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  gateway.close = () =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return gateway;
}
