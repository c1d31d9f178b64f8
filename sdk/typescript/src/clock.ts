/** A clock that is off by more than this is not corrected by the server's word. */
const SKEW_SECONDS_MAX = 15 * 60;

/** Seconds by which this machine is ahead of the server; undefined when it sent no `Date`. */
function secondsAhead(headers: Headers, nowMs: number): number | undefined {
  const server = Math.floor(Date.parse(headers.get('date') ?? '') / 1000);
  return Number.isNaN(server) ? undefined : Math.floor(nowMs / 1000) - server;
}

/**
 * Unix time in seconds by the server's `Date` header where it is within a quarter of an hour of
 * the local clock, so that a machine with a slightly wrong clock can pay; else the local time.
 */
export function serverSeconds(headers: Headers, nowMs: number): number {
  const ahead = secondsAhead(headers, nowMs) ?? 0;
  return Math.floor(nowMs / 1000) - (Math.abs(ahead) <= SKEW_SECONDS_MAX ? ahead : 0);
}

/** What to say of a clock that is too wrong to be corrected; undefined when it is not. */
export function clockComplaint(headers: Headers, nowMs: number): string | undefined {
  const ahead = secondsAhead(headers, nowMs) ?? 0;
  if (Math.abs(ahead) <= SKEW_SECONDS_MAX) return undefined;
  const minutes = Math.round(Math.abs(ahead) / 60);
  return (
    `This machine’s clock is ${minutes} minutes ${ahead < 0 ? 'behind' : 'ahead of'} the ` +
    'service’s. Set it, ideally with NTP.'
  );
}
