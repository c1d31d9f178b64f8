/** Connect: tries each way in against the running server and shows what happened. */
import { CheckProblem, Steps } from './check-steps.js';
import { finishSignIn, isBackFromSignIn, startSignIn } from './sign-in-check.js';
import { callSearch, listTools, type ToolReply } from './tool-client.js';
import { messageOf, paymentFor, type Challenge } from './wallet.js';

const panel = document.querySelector<HTMLElement>('#check');
const address = (name: string) => panel?.dataset[name] ?? '';
const stepsOf = (way: string) => new Steps(document.getElementById(`check-${way}-steps`));
const [byKey, byPayment, bySignIn] = [stepsOf('key'), stepsOf('payment'), stepsOf('sign-in')];

/** Lets one button start a check, and not twice at once. */
function onPress(way: string, check: (form: HTMLFormElement) => Promise<void>): void {
  const form = document.querySelector<HTMLFormElement>(`#check-${way}`);
  form?.addEventListener('submit', (event) => {
    event.preventDefault();
    const button = form.querySelector('button');
    if (!button || button.ariaDisabled === 'true') return;
    // The button keeps the focus of whoever works by keyboard: it is not disabled outright.
    button.ariaDisabled = 'true';
    void check(form).finally(() => {
      button.ariaDisabled = null;
    });
  });
}

onPress('key', (form) => byKey.run(() => checkKey(new FormData(form).get('key'))));
onPress('payment', () => byPayment.run(checkPayment));
onPress('sign-in', () => bySignIn.run(() => startSignIn(address('keyed'), bySignIn)));
if (isBackFromSignIn()) void bySignIn.goOn(() => finishSignIn(bySignIn));

async function checkKey(value: FormDataEntryValue | null): Promise<void> {
  const key = typeof value === 'string' ? value.trim() : '';
  if (key === '') throw new CheckProblem('Enter an API key.');
  const authorization = `Bearer ${key}`;
  const before = await creditsOf(authorization);
  byKey.add(toolsIn(await listTools(address('keyed'), authorization), 'With the key'));
  byKey.add(resultsIn(await callSearch(address('keyed'), authorization)));
  const after = await creditsOf(authorization);
  if (before === undefined || after === undefined) return;
  byKey.add(`Cost: ${before - after} credit. Left: ${after.toLocaleString('en-US')}.`);
}

/** What the key's account may still spend; undefined when it does not say. */
async function creditsOf(authorization: string): Promise<number | undefined> {
  const response = await fetch('/account', { headers: { Authorization: authorization } });
  if (!response.ok) return undefined;
  return ((await response.json()) as { credits: { available: number } }).credits.available;
}

/** The most that a check pays, in atomic USDC: one cent. */
const PAYMENT_UNITS_MAX = 10_000;

async function checkPayment(): Promise<void> {
  const url = address('open');
  byPayment.add(toolsIn(await listTools(url), 'Without credentials'));
  const asked = (await callSearch(url)).result?.structuredContent as Challenge | undefined;
  const terms = asked?.accepts[0];
  if (!asked || !terms)
    throw new CheckProblem('The server didn’t ask for a payment that this page supports.');
  const { network, payTo } = terms;
  byPayment.add(`A call asks for ${usd(terms.amount)} USDC on ${network}, to ${payTo}.`);
  if (Number(terms.amount) > PAYMENT_UNITS_MAX) {
    throw new CheckProblem('That’s more than one cent, so this test doesn’t pay it.');
  }
  if (!window.ethereum) {
    byPayment.add('This browser has no wallet, so nothing was paid and no search ran.', 'open');
    return;
  }
  const payment = await paymentFor(asked).catch((error: unknown) => {
    throw new CheckProblem(messageOf(error));
  });
  byPayment.add('The wallet signed the payment.');
  const paid = await callPaid(url, payment);
  byPayment.add(resultsIn(paid));
  const receipt = paid.result?._meta?.['x402/payment-response'] as Receipt | undefined;
  if (receipt?.success !== true) throw new CheckProblem('The response has no receipt.');
  const amount = usd(receipt.amount ?? terms.amount);
  byPayment.add(`It cost ${amount} USDC, in transaction ${receipt.transaction}.`);
}

interface Receipt {
  readonly success: boolean;
  readonly transaction: string;
  readonly amount?: string;
}

const PENDING_TRIES = 15;
const PENDING_WAIT_MS = 2000;

/** While the outcome is not known, the very same payment is sent again, never a new one. */
async function callPaid(url: string, payment: object): Promise<ToolReply> {
  for (let tries = 1; ; tries++) {
    const reply = await callSearch(url, undefined, payment);
    const isPending = reply.result?.structuredContent?.code === 'settlement_pending';
    if (!isPending || tries === PENDING_TRIES) return reply;
    await new Promise((resolve) => setTimeout(resolve, PENDING_WAIT_MS));
  }
}

/** Atomic USDC, six decimals, as dollars. */
function usd(units: string): string {
  const [whole, decimals] = [units.slice(0, -6) || '0', units.slice(-6).padStart(6, '0')];
  return `${whole}.${decimals}`.replace(/0+$/, '').replace(/\.$/, '');
}

function toolsIn(reply: ToolReply, how: string): string {
  const names = reply.result?.tools?.map(({ name }) => name) ?? [];
  if (names.length > 0) return `${how} it lists its tool: ${names.join(', ')}.`;
  throw new CheckProblem(`The server lists no tools: ${whatWentWrong(reply)}`);
}

function resultsIn(reply: ToolReply): string {
  const result = reply.result?.structuredContent?.result as { totalResults?: number } | undefined;
  const count = result?.totalResults;
  if (reply.result?.isError !== true && count !== undefined) {
    return `A search found ${count} ${count === 1 ? 'page' : 'pages'}.`;
  }
  throw new CheckProblem(`The search failed: ${whatWentWrong(reply)}`);
}

function whatWentWrong({ status, problem, result }: ToolReply): string {
  return problem ?? result?.content?.at(-1)?.text ?? `it answered ${status}.`;
}
