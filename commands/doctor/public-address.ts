import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { connect } from 'node:tls';
import type { Config } from '../../gateway/wiring/config.js';
import { bad, type Finding, good, inTime, reasonOf, warning } from './finding.js';

const TIMEOUT_MS = 5_000;
const DAY_MS = 86_400_000;
/** Those who renew certificates by program do it a month before the end. */
const DAYS_FEW = 14;

/** Whether callers reach the service where quotes and mails send them: by DNS, TLS and HTTP. */
export async function lookAtPublicUrl({ PUBLIC_URL }: Config): Promise<readonly Finding[]> {
  if (PUBLIC_URL === undefined) return [];
  const url = new URL(PUBLIC_URL);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) === 0) {
    try {
      await inTime(lookup(host), TIMEOUT_MS);
    } catch (error) {
      const said = `The name ${host} of PUBLIC_URL leads nowhere: ${reasonOf(error)}.`;
      return [bad('public.dns', said, 'Give the name an A or AAAA record, or mend PUBLIC_URL.')];
    }
  }
  const tls = url.protocol === 'https:' ? [await lookAtCertificate(url, host)] : [];
  if (tls.some(({ state }) => state === 'bad')) return tls;
  return [...tls, await lookAtDoor(PUBLIC_URL)];
}

interface Certificate {
  /** Why callers do not believe it. */
  readonly fault: string | undefined;
  readonly endsMs: number;
}

async function lookAtCertificate(url: URL, host: string): Promise<Finding> {
  let certificate: Certificate;
  try {
    certificate = await readCertificate(host, Number(url.port || '443'));
  } catch (error) {
    const cure = 'Start the proxy that ends TLS, and open its port.';
    return warning('public.tls', `${url.origin} speaks no TLS: ${reasonOf(error)}.`, cure);
  }
  const { fault, endsMs } = certificate;
  if (fault !== undefined) {
    const cure = 'Install a valid certificate for this name, with those between it and its root.';
    const said = `Callers do not believe the certificate of ${url.origin}: ${fault}.`;
    return bad('public.tls', said, cure);
  }
  const days = Math.floor((endsMs - Date.now()) / DAY_MS);
  const said = `The certificate of ${url.origin} is valid for ${days} more days.`;
  return days < DAYS_FEW
    ? warning('public.tls', said, 'Renew it, and see why that did not happen by itself.')
    : good('public.tls', said);
}

function readCertificate(host: string, port: number): Promise<Certificate> {
  return new Promise((resolve, reject) => {
    const servername = isIP(host) === 0 ? { servername: host } : {};
    // An invalid one is what we want to see: nothing is sent over this connection.
    const socket = connect({ host, port, ...servername, rejectUnauthorized: false });
    const timer = setTimeout(() => socket.destroy(new Error('no answer in time')), TIMEOUT_MS);
    socket.once('close', () => {
      clearTimeout(timer);
      reject(new Error('the connection was closed'));
    });
    socket.once('error', reject);
    socket.once('secureConnect', () => {
      const { authorizationError: error } = socket;
      const fault = socket.authorized ? undefined : reasonOf(error);
      resolve({ fault, endsMs: Date.parse(socket.getPeerCertificate().valid_to) });
      socket.destroy();
    });
  });
}

async function lookAtDoor(url: string): Promise<Finding> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(new URL('/livez', url), { signal });
    if (response.ok) return good('public', `${url} leads here, or to another gateway.`);
    const said = `${url} answers ${response.status} to /livez.`;
    return warning('public', said, 'Let the proxy in front pass everything on to PORT.');
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    return warning(
      'public',
      `${url} cannot be reached from here: ${reasonOf(cause)}.`,
      'Start the gateway and the proxy in front, and check the firewalls in between.',
    );
  }
}
