import type { Request } from 'express';

/** The value of a cookie as the browser sent it; undefined when it sent none of that name. */
export function cookieOf({ headers }: Request, name: string): string | undefined {
  const pairs = (headers.cookie ?? '').split(';').map((pair) => pair.trim());
  const pair = pairs.find((one) => one.startsWith(`${name}=`));
  return pair?.slice(name.length + 1);
}
