import type { Request } from 'express';
import { PASSWORD_LENGTH } from '../../../customers/people/passwords.js';
import { field } from '../page.js';

/** A parameter of an address, without control characters. */
export function queryOf(request: Request, name: string): string {
  const value = request.query[name];
  return typeof value === 'string' ? value.replace(/\p{Cc}/gu, ' ').slice(0, 4000) : '';
}

/** A password as it was typed: not trimmed. */
export function passwordOf(request: Request): string {
  const { password } = (request.body ?? {}) as { password?: unknown };
  return typeof password === 'string' ? password.slice(0, PASSWORD_LENGTH.max + 1) : '';
}

/** The field in which somebody chooses a password. */
export const newPassword = () =>
  field({
    name: 'password',
    label: 'Password',
    type: 'password',
    autocomplete: 'new-password',
    hint: `At least ${PASSWORD_LENGTH.min} characters. A few words in a row work well.`,
  });
