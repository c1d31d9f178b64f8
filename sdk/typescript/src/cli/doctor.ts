import { Search402 } from '../client.js';
import { PaymentRequiredError, ProtocolError, Search402Error } from '../errors.js';
import { resolveOptions } from '../options.js';
import { BASE_MAINNET, BASE_USDC } from '../payment/challenge.js';
import { formatUsd } from '../payment/money.js';
import type { Quote } from '../payment/record.js';
import { causeOf } from '../transport.js';
import type { Invocation } from './args.js';
import { chainId, chainSeconds, tokenBalance } from './chain.js';
import { toJson, type Io } from './io.js';
import { commonOptions, findApiKey, findStore, findWallet, isReadByOthers } from './setup.js';

/** One thing that was looked at. */
interface Finding {
  readonly name: string;
  readonly status: 'ok' | 'warn' | 'fail' | 'skip';
  readonly detail: string;
  /** What to do about it. */
  readonly fix?: string;
}

type Verdict = Omit<Finding, 'name'>;

const TIMEOUT_MS = 10_000;
/** Payments allow for this much; beyond it they may be refused as too early or too late. */
const CLOCK_WARN_SECONDS = 30;
/** The client follows the server's clock up to here. */
const CLOCK_FAIL_SECONDS = 15 * 60;
const CHAIN_AGE_FAIL_SECONDS = 120;

const ok = (detail: string): Verdict => ({ status: 'ok', detail });
const skip = (detail: string): Verdict => ({ status: 'skip', detail });
const fail = (detail: string, fix: string): Verdict => ({ status: 'fail', detail, fix });
const warn = (detail: string, fix: string): Verdict => ({ status: 'warn', detail, fix });

async function post(url: string, headers: Record<string, string>): Promise<Response> {
  return await fetch(url, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'content-type': 'application/json', ...headers },
    // An empty search: refused for free, after the credentials were looked at.
    body: '{}',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
}

function checkAddress(url: string, answer: Response | Error): Verdict {
  const { protocol, hostname } = new URL(url);
  if (answer instanceof Error) {
    return fail(
      `${url} isn’t answering: ${causeOf(answer)}`,
      'Start the service, or fix --base-url.',
    );
  }
  const isService = [401, 402, 422].includes(answer.status);
  if (!isService) {
    const detail = `${url} answered with status ${answer.status}, so it isn’t a search402 service`;
    return fail(detail, 'Fix --base-url: use the address without "/search".');
  }
  const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
  if (protocol === 'http:' && !isLocal) {
    return warn(
      `${url} answers, without encryption`,
      'Use https. Otherwise others can read your key.',
    );
  }
  return ok(`${url} answers`);
}

function checkClock(answer: Response | Error): Verdict {
  const server = answer instanceof Error ? NaN : Date.parse(answer.headers.get('date') ?? '');
  if (Number.isNaN(server)) return skip('the service didn’t send its time');
  const seconds = Math.round((Date.now() - server) / 1000);
  const detail = `this machine is ${Math.abs(seconds)} s ${seconds < 0 ? 'behind' : 'ahead of'} the service`;
  const fix = 'Set this machine’s clock, ideally with NTP.';
  if (Math.abs(seconds) > CLOCK_FAIL_SECONDS) return fail(detail, fix);
  return Math.abs(seconds) > CLOCK_WARN_SECONDS ? warn(detail, fix) : ok(detail);
}

async function checkIndex(url: string): Promise<Verdict> {
  const ready = url.replace(/\/search$/, '/readyz');
  const answer = await fetch(ready, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (answer.status === 200) return ok('the service is ready');
  if (answer.status === 503) {
    const fix = 'Ask its operator. /readyz names what isn’t ready: the index or the chain.';
    return fail('the service isn’t ready', fix);
  }
  return skip(`unknown (${ready} answered ${answer.status})`);
}

async function checkKey(url: string, apiKey: string | undefined): Promise<Verdict> {
  if (apiKey === undefined) return skip('no key is set (SEARCH402_API_KEY or --key-file)');
  const { status } = await post(url, { authorization: `Bearer ${apiKey}` });
  switch (status) {
    case 422:
      return ok(`the key works${await creditsLeft(url, apiKey)}`);
    case 401:
      return fail('the service doesn’t know this key', 'Copy it again, or create a new one.');
    case 402:
      return fail('the account has no credits left', 'Add credits, or use a wallet.');
    case 403:
      return fail(
        'the account isn’t allowed to search',
        'Check the plan and whether the account is suspended.',
      );
    case 429:
      return warn('the key is over its rate limit', 'Slow down and try again.');
    default:
      return fail(`the service answers the key with status ${status}`, 'Try again later.');
  }
}

/** What the account face tells about credits, where there is one. */
async function creditsLeft(url: string, apiKey: string): Promise<string> {
  const answer = await fetch(url.replace(/\/search$/, '/account'), {
    headers: { authorization: `Bearer ${apiKey}` },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (answer.status !== 200) return '';
  const { credits } = (await answer.json()) as { credits?: { available?: unknown } };
  return typeof credits?.available === 'number' ? `; ${credits.available} credits left` : '';
}

async function fetchQuote(invocation: Invocation, io: Io): Promise<Quote | Search402Error> {
  try {
    return await new Search402({ ...commonOptions(invocation, io), apiKey: undefined }).quote();
  } catch (error) {
    if (error instanceof Search402Error) return error;
    throw error;
  }
}

function checkTerms(quote: Quote | Search402Error): Verdict {
  if (quote instanceof Search402Error) {
    const isKeysOnly = 'status' in quote && quote.status === 401;
    if (isKeysOnly) return skip('this address accepts API keys only');
    const isForeign = quote instanceof PaymentRequiredError || quote instanceof ProtocolError;
    const fix = isForeign ? 'Update this package.' : 'Try again later.';
    return fail(`no quote: ${quote.message}`, fix);
  }
  const { amountUsd, network, asset, payTo } = quote;
  if (network !== BASE_MAINNET || asset !== BASE_USDC) {
    const fix = 'Don’t pay, unless this is your own service and you allowed this.';
    return fail(`it asks for ${asset} on ${network} instead of USDC on Base`, fix);
  }
  return ok(`${amountUsd} USD a search, to ${payTo}`);
}

async function checkChain(rpcUrl: string | undefined, quote: Quote): Promise<Verdict> {
  if (rpcUrl === undefined) return skip('no endpoint is set (SEARCH402_RPC_URL or --rpc-url)');
  const id = await chainId(rpcUrl);
  if (`eip155:${id}` !== quote.network) {
    return fail(`the endpoint is for chain ${id}, not ${quote.network}`, 'Correct --rpc-url.');
  }
  const age = Math.round(Date.now() / 1000 - (await chainSeconds(rpcUrl)));
  if (age > CHAIN_AGE_FAIL_SECONDS) {
    const fix = 'Use another endpoint, or check this machine’s clock.';
    return fail(`the newest block is ${age} s old`, fix);
  }
  return ok(`chain ${id}, newest block ${Math.max(0, age)} s old`);
}

async function checkBalance(
  rpcUrl: string | undefined,
  address: `0x${string}` | undefined,
  quote: Quote,
): Promise<Verdict> {
  if (!address) return skip('no wallet is set');
  if (rpcUrl === undefined) return skip('no endpoint is set (SEARCH402_RPC_URL or --rpc-url)');
  const units = await tokenBalance(rpcUrl, quote.asset, address);
  const searches = quote.amountUnits === 0n ? 0n : units / quote.amountUnits;
  const detail = `${formatUsd(units)} USDC, enough for ${searches} searches`;
  return searches > 0n ? ok(detail) : fail(detail, `Send some USDC on Base to ${address}.`);
}

async function checkStore(invocation: Invocation, io: Io): Promise<Verdict> {
  const store = findStore(invocation, io);
  const records = await store.list();
  const open = records.filter(({ status }) => status === 'open').length;
  const { dayUnits, totalUnits } = await store.read((view) => ({ ...view.spent(Date.now()) }));
  const detail = `signed ${formatUsd(dayUnits)} USD within a day, ${formatUsd(totalUnits)} USD in all`;
  if (open === 0) return ok(detail);
  const fix = 'Run the same "pay" commands again. They resend the same payments.';
  const payments = open === 1 ? '1 payment' : `${open} payments`;
  return warn(`${detail}; ${payments} with an unknown outcome`, fix);
}

/** `search402 doctor`: looks at everything, spends nothing. Returns whether all is well. */
export async function doctor(invocation: Invocation, io: Io): Promise<boolean> {
  const { url } = resolveOptions({ ...commonOptions(invocation, io) });
  const rpcUrl = invocation.values['rpc-url'] ?? io.env.SEARCH402_RPC_URL;
  const findings: Finding[] = [];
  const look = async (
    name: string,
    check: () => Verdict | Promise<Verdict>,
    fix = 'Fix this and run the doctor again.',
  ): Promise<void> => {
    try {
      findings.push({ name, ...(await check()) });
    } catch (error) {
      findings.push({ name, ...fail(causeOf(error), fix) });
    }
  };

  const answer = await post(url, {}).catch((error: unknown) => new Error(causeOf(error)));
  await look('address', () => checkAddress(url, answer));
  if (!(answer instanceof Error)) {
    await look('clock', () => checkClock(answer));
    await look('index', () => checkIndex(url));
    await look('key', () => checkKey(url, findApiKey(invocation, io)));
    const quote = await fetchQuote(invocation, io);
    await look('price', () => checkTerms(quote));
    if (!(quote instanceof Search402Error)) {
      const wallet = () => findWallet(invocation, io)?.address;
      const fix = 'Use another endpoint: --rpc-url or SEARCH402_RPC_URL.';
      await look('chain', () => checkChain(rpcUrl, quote), fix);
      await look('balance', () => checkBalance(rpcUrl, wallet(), quote), fix);
    }
  }
  await look('wallet', () => checkWallet(invocation, io));
  await look('payments', () => checkStore(invocation, io));
  report(findings, invocation, io);
  return findings.every(({ status }) => status !== 'fail');
}

function checkWallet(invocation: Invocation, io: Io): Verdict {
  const wallet = findWallet(invocation, io);
  if (!wallet) return skip('no wallet is set (SEARCH402_PRIVATE_KEY or --wallet-file)');
  const file = invocation.values['wallet-file'];
  if (file !== undefined && isReadByOthers(file)) {
    return warn(`${wallet.address}, but others can read ${file}`, `chmod 600 ${file}`);
  }
  return ok(wallet.address);
}

function report(findings: readonly Finding[], { json }: Invocation, io: Io): void {
  if (json) {
    io.out(toJson({ ok: findings.every(({ status }) => status !== 'fail'), findings }));
    return;
  }
  const signs = { ok: '✓', warn: '!', fail: '✗', skip: '-' } as const;
  for (const { name, status, detail, fix } of findings) {
    io.out(`${signs[status]} ${name.padEnd(9)} ${detail}`);
    if (fix !== undefined) io.out(`            → ${fix}`);
  }
}
