/**
 * `node oauth-process.js private|public`: the keyed `/mcp` with its authorization server in a process
 * of its own, for tests that make it believe a certificate (NODE_EXTRA_CA_CERTS is read at the start
 * of a process). Prints where it is as one line of JSON.
 */
import { startOauth } from './oauth.js';

const service = await startOauth({ reachesPrivate: process.argv[2] === 'private' });
const { url, origin } = service;
process.stdout.write(`${JSON.stringify({ url, origin })}\n`);
process.once('SIGTERM', () => void service.close().then(() => process.exit(0)));
