const OWN_NAMES: readonly string[] = ['127.0.0.1', '::1', '[::1]', '0.0.0.0', '::', 'localhost'];

/**
 * What people call a listener of this machine, in the banner, in mails, in quotes: always the same
 * name. A session of the console belongs to one, so a step to another would end it.
 */
export function ownUrl(host: string, port: number | string): string {
  if (OWN_NAMES.includes(host)) return `http://localhost:${port}`;
  return `http://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${port}`;
}

/** The same for an address that something listens on. */
export function namedUrl(url: string): string {
  const { hostname, port } = new URL(url);
  return ownUrl(hostname, port);
}
