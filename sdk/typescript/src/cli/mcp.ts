import { createInterface } from 'node:readline';
import { resolveOptions } from '../options.js';
import type { Invocation } from './args.js';
import { UsageError, type Io } from './io.js';
import { createBridge } from './mcp-bridge.js';
import { commonOptions, findApiKey } from './setup.js';

/**
 * `search402 mcp`: the service's own tool, for hosts that only start programs. What comes in line by
 * line goes to its `/mcp`, so the tool, its texts and its limits are the service's.
 */
export async function mcp(invocation: Invocation, io: Io): Promise<void> {
  const apiKey = findApiKey(invocation, io);
  if (apiKey === undefined) throw new UsageError('no API key: set SEARCH402_API_KEY or --key-file');
  const { url, headers, fetch, timeoutMs } = resolveOptions({
    ...commonOptions(invocation, io),
    apiKey,
  });
  const bridge = createBridge({
    url: url.replace(/\/search$/, '/mcp'),
    headers: { ...headers, authorization: `Bearer ${apiKey}` },
    fetch,
    timeoutMs,
    toHost: (line) => io.out(line),
    complain: (text) => io.err(`search402: ${text}`),
  });
  const running = new Set<Promise<void>>();
  for await (const line of createInterface({ input: process.stdin })) {
    const done = bridge.take(line).finally(() => running.delete(done));
    running.add(done);
  }
  bridge.endStreams();
  await Promise.all(running);
}
