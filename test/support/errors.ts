import { expect } from '@jest/globals';
import { REFUSALS, type RefusalCode } from '../../gateway/ground/domain/refusal.js';

export interface ErrorBody {
  title: string;
  status: number;
  detail: string;
  requestId: string;
  code: string;
}

/** Asserts that a response is the closed ErrorResponse with this code, and returns its body. */
export async function expectRefusal(response: Response, code: RefusalCode): Promise<ErrorBody> {
  const body = (await response.json()) as ErrorBody;
  if (body.code !== code) throw new Error(`expected ${code}: ${JSON.stringify(body)}`);
  expect(response.status).toBe(REFUSALS[code].status);
  expect(response.headers.get('content-type')).toBe('application/json');
  expect(Object.keys(body).sort()).toEqual(['code', 'detail', 'requestId', 'status', 'title']);
  expect(body.status).toBe(response.status);
  expect(body.title).not.toBe('Error');
  expect(body.detail).toMatch(/[.!…]$/);
  expect(body.requestId).toBe(response.headers.get('x-request-id'));
  expect(response.headers.get('cache-control')).toBe('no-store');
  return body;
}
