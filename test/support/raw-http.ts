/** HTTP as bytes on a socket, for requests that no client would send. */
import { connect } from 'node:net';
import type { Exchange } from './interface-document.js';

/** Sends `text` as it is, sends nothing more, and reads until the service hangs up. */
export async function sendRaw(url: string, text: string): Promise<Exchange> {
  const { hostname, port } = new URL(url);
  const bytes = await new Promise<Buffer>((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(Number(port), hostname, () => socket.write(text));
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', reject);
    socket.on('close', () => resolve(Buffer.concat(chunks)));
  });
  const end = bytes.indexOf('\r\n\r\n');
  const [statusLine = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const [method = '', target = ''] = text.split(' ');
  return {
    method,
    path: target.split('?')[0] ?? '',
    status: Number(statusLine.split(' ')[1]),
    headers: Object.fromEntries(
      lines.map((line) => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      }),
    ),
    body: bytes.subarray(end + 4),
  };
}
