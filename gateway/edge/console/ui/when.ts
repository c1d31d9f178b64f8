import { html, type Html } from '../html.js';

const STEPS = [
  { seconds: 86_400, name: 'day' },
  { seconds: 3600, name: 'hour' },
  { seconds: 60, name: 'minute' },
] as const;

/** How long ago, in the largest whole unit; the exact time (UTC) on hover. */
export function ago(then: Date, now: number): Html {
  const seconds = Math.max(0, (now - then.getTime()) / 1000);
  const step = STEPS.find((one) => seconds >= one.seconds);
  const count = step ? Math.floor(seconds / step.seconds) : 0;
  const text = step ? `${count} ${step.name}${count === 1 ? '' : 's'} ago` : 'just now';
  const exact = then.toISOString();
  const title = `${exact.slice(0, 19).replace('T', ' ')} UTC`;
  return html`<time datetime="${exact}" title="${title}">${text}</time>`;
}

/** A time, to the minute and in UTC. */
export function time(date: Date): Html {
  const text = date.toISOString();
  return html`<time datetime="${text}">${text.slice(0, 16).replace('T', ' ')}</time>`;
}

/** The day of a time, in UTC. */
export function day(date: Date): Html {
  const text = date.toISOString();
  return html`<time datetime="${text}" title="${text.slice(0, 19).replace('T', ' ')} UTC"
    >${text.slice(0, 10)}</time
  >`;
}
