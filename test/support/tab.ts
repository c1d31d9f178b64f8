import type { ConsoleWorld } from './console.js';
import { PASSWORD } from './people.js';

/** A browser without scripts: keeps cookies, sends forms as a page of the console does. */
export interface Tab {
  get(path: string): Promise<{ status: number; text: string; headers: Headers }>;
  post(
    path: string,
    form?: Record<string, string>,
    headers?: Record<string, string>,
  ): Promise<{ status: number; text: string; headers: Headers }>;
  /** Sends a form and follows where it leads, as a browser does. */
  sent(path: string, form?: Record<string, string>): Promise<{ status: number; text: string }>;
  /** The cookies as the browser would send them. */
  readonly cookies: ReadonlyMap<string, string>;
}

export function openTab(
  { url }: ConsoleWorld,
  cookies = new Map<string, string>(),
  always: Readonly<Record<string, string>> = {},
): Tab {
  const send = async (path: string, init: RequestInit) => {
    const cookie = [...cookies].map((pair) => pair.join('=')).join('; ');
    const response = await fetch(new URL(path, url), {
      redirect: 'manual',
      ...init,
      headers: {
        ...always,
        ...(init.headers as Record<string, string>),
        ...(cookie && { cookie }),
      },
    });
    for (const line of response.headers.getSetCookie()) {
      const [name = '', value = ''] = line.split(';')[0]?.split(/=(.*)/) ?? [];
      if (value === '' || /max-age=0/i.test(line)) cookies.delete(name);
      else cookies.set(name, value);
    }
    return { status: response.status, text: await response.text(), headers: response.headers };
  };
  const post: Tab['post'] = (path, form = {}, headers = { origin: url }) =>
    send(path, { method: 'POST', body: new URLSearchParams(form), headers });
  return {
    cookies,
    get: (path) => send(path, {}),
    post,
    sent: async (path, form) => {
      const reply = await post(path, form);
      const to = reply.headers.get('location');
      return to === null ? reply : send(to, {});
    },
  };
}

/** A tab of a person who signed up, confirmed the address and is signed in. */
export async function signedUp(
  world: ConsoleWorld,
  email: string,
  always: Readonly<Record<string, string>> = {},
): Promise<Tab> {
  const tab = openTab(world, new Map(), always);
  await tab.post('/console/sign-up', {
    name: email.split('@')[0] ?? '',
    email,
  });
  const token = new URL(await world.linkTo(email)).searchParams.get('token') ?? '';
  const verified = await tab.post('/console/verify', { token, password: PASSWORD });
  if (verified.status !== 303) throw new Error(verified.text);
  return tab;
}

/** Invites and joins: a tab of a person who belongs to the inviter's account. */
export async function joined(
  world: ConsoleWorld,
  admin: Tab,
  email: string,
  role: 'admin' | 'member',
): Promise<Tab> {
  await admin.post('/console/team/invite', { email, role });
  const id = new URL(await world.linkTo(email)).searchParams.get('id') ?? '';
  const tab = await signedUpAfter(world, email);
  const accepted = await tab.post('/console/invitation', { id });
  if (accepted.status !== 303) throw new Error(accepted.text);
  return tab;
}

/** Signs up when there is a mail to the address already: waits for the newer one. */
async function signedUpAfter(world: ConsoleWorld, email: string): Promise<Tab> {
  const before = await world.linkTo(email);
  const tab = openTab(world);
  await tab.post('/console/sign-up', {
    name: email.split('@')[0] ?? '',
    email,
  });
  let link = before;
  for (let tries = 0; link === before && tries < 100; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    link = await world.linkTo(email);
  }
  const token = new URL(link).searchParams.get('token') ?? '';
  await tab.post('/console/verify', { token, password: PASSWORD });
  return tab;
}

/** Makes a key in the console; returns it and the path of its row. */
export async function madeKey(tab: Tab, name = 'script'): Promise<{ key: string; id: string }> {
  const { text } = await tab.sent('/console/keys', { name });
  const key = /s402_live_[0-9A-Za-z]{33}/.exec(text)?.[0] ?? '';
  const [id = ''] = [...text.matchAll(/\/console\/keys\/([0-9a-f-]{36})\/revoke/g)].map(
    (match) => match[1] ?? '',
  );
  return { key, id };
}
