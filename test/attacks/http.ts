import { startTestService } from '../support/service.js';
import { sendRaw } from './machine.js';
import type { AttackRow } from './row.js';

const BODY = '{"query":"lamp"}';
const POST = `Content-Type: application/json\r\nContent-Length: ${BODY.length}\r\nConnection: close\r\n\r\n${BODY}`;

/** Requests that servers and proxies read differently, and what each has to be answered with. */
const REQUESTS: readonly (readonly [name: string, bytes: string, status: number])[] = [
  ['two Host headers', `POST /search HTTP/1.1\r\nHost: a\r\nHost: b\r\n${POST}`, 400],
  ['the same Host twice', `POST /search HTTP/1.1\r\nHost: a\r\nhost: a\r\n${POST}`, 400],
  ['HTTP/1.1 without Host', `POST /search HTTP/1.1\r\n${POST}`, 400],
  ['an unknown Expect', `POST /search HTTP/1.1\r\nHost: a\r\nExpect: cake\r\n${POST}`, 400],
  ['an unknown method on /search', 'BREW /search HTTP/1.1\r\nHost: a\r\n\r\n', 405],
  ['an unknown method elsewhere', 'BREW /pot HTTP/1.1\r\nHost: a\r\n\r\n', 404],
  ['CONNECT /search', 'CONNECT /search HTTP/1.1\r\nHost: a\r\n\r\n', 405],
  ['DELETE /search', 'DELETE /search HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n', 405],
  ['no HTTP at all', 'lamp\r\n\r\n', 400],
];

/** Whether an answer is the closed ErrorResponse with this status. */
function isErrorResponse(answer: string, status: number): boolean {
  const [head = '', body = ''] = answer.split('\r\n\r\n', 2);
  if (!head.startsWith(`HTTP/1.1 ${status} `)) return false;
  if (status === 405 && !/^allow: post$/im.test(head)) return false;
  try {
    const error = JSON.parse(body) as Record<string, unknown>;
    const names = Object.keys(error).sort().join();
    return names === 'code,detail,requestId,status,title' && error.status === status;
  } catch {
    return false;
  }
}

/** HTTP that is not as the standard has it is refused, in the contract's words. */
export async function http(): Promise<readonly AttackRow[]> {
  const service = await startTestService();
  try {
    const wrong: string[] = [];
    for (const [name, bytes, status] of REQUESTS) {
      const answer = await sendRaw(service.gatewayUrl, bytes);
      if (!isErrorResponse(answer, status)) wrong.push(`${name}: ${answer.slice(0, 80)}`);
    }
    return [
      {
        attack: 'Ambiguous or unknown HTTP',
        tries: REQUESTS.length,
        gotThrough: wrong.length,
        costToAttacker: 'one request each',
        costToUs: 'one refusal each',
        ...(wrong.length > 0 && { note: wrong.join('; ') }),
      },
    ];
  } finally {
    await service.stop();
  }
}
