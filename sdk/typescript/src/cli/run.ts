import { AbortedError, ApiError, PaymentRequiredError, Search402Error } from '../errors.js';
import { ReceiptError } from '../receipt.js';
import { HELP, parseCommandLine, type Invocation } from './args.js';
import { channel } from './channel.js';
import { pack } from './pack.js';
import { pay, quote, search } from './commands.js';
import { doctor } from './doctor.js';
import { mcp } from './mcp.js';
import { toJson, UsageError, type Io } from './io.js';
import { verify } from './verify.js';

/** Exit codes: all went well, it failed, the command line cannot be understood. */
const [OK, FAILED, MISUSED] = [0, 1, 2];

/** Runs one command line; returns the exit code. */
export async function run(argv: readonly string[], version: string, io: Io): Promise<number> {
  let invocation: Invocation | undefined;
  try {
    invocation = parseCommandLine(argv);
    return await dispatch(invocation, version, io);
  } catch (error) {
    if (!(error instanceof Search402Error)) throw error;
    complain(error, invocation?.json ?? argv.includes('--json'), io);
    return error instanceof UsageError ? MISUSED : FAILED;
  }
}

async function dispatch(invocation: Invocation, version: string, io: Io): Promise<number> {
  if (invocation.version) {
    io.out(version);
    return OK;
  }
  if (invocation.help || !invocation.command) {
    io.out(HELP[invocation.command ?? '']);
    return invocation.help ? OK : MISUSED;
  }
  switch (invocation.command) {
    case 'search':
      await search(invocation, io);
      return OK;
    case 'pay':
      await pay(invocation, io);
      return OK;
    case 'channel':
      await channel(invocation, io);
      return OK;
    case 'pack':
      await pack(invocation, io);
      return OK;
    case 'quote':
      await quote(invocation, io);
      return OK;
    case 'mcp':
      await mcp(invocation, io);
      return OK;
    case 'verify':
      await verify(invocation, io);
      return OK;
    case 'doctor':
      return (await doctor(invocation, io)) ? OK : FAILED;
  }
}

/** One sentence on what went wrong, and one on what to do. */
function complain(error: Search402Error, isJson: boolean, io: Io): void {
  if (isJson) {
    const { name, message, payment } = error;
    const api = error instanceof ApiError ? error : undefined;
    const { code, status, requestId, retryAfterSeconds } = api ?? {};
    const fields = { name, message, code, status, requestId, retryAfterSeconds, payment };
    io.err(toJson({ error: fields }));
    return;
  }
  io.err(`search402: ${error.message}`);
  const advice = adviceFor(error);
  if (advice !== undefined) io.err(advice);
}

function adviceFor(error: Search402Error): string | undefined {
  if (error.payment?.status === 'open') {
    return 'We don’t know yet whether it was paid. Run the same command again. It resends the same payment.';
  }
  if (error instanceof UsageError || error instanceof AbortedError) return undefined;
  if (error instanceof ReceiptError) return 'Don’t rely on it.';
  if (error instanceof PaymentRequiredError && error.reason?.includes('insufficient') === true) {
    return 'The wallet doesn’t have enough USDC on Base. Run "search402 doctor" to see its balance.';
  }
  return '"search402 doctor" may tell what is wrong.';
}
