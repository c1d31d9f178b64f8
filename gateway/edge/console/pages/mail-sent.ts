import type { Response } from 'express';
import { html, type Html } from '../html.js';
import { sendPage } from '../page.js';
import type { ConsoleParts } from '../parts.js';

/** What a person does after asking for a link by mail; says so where no mail can reach anybody. */
export function mailPage(response: Response, parts: ConsoleParts, email: string): void {
  if (!parts.isMailSent && !parts.outbox) {
    sendPage(response, { title: 'No email was sent', status: 503, body: html`<p>${NO_MAIL}</p>` });
    return;
  }
  sendPage(response, {
    title: 'Check your email',
    body: html`${parts.outbox ? keptFor(email) : sentTo(email)}`,
  });
}

const NO_MAIL =
  'This service can’t send email yet, so we can’t send you a link. Ask its operator to set a mail server (SMTP_URL).';

const sentTo = (email: string): Html =>
  html`<p>We sent a link to <b>${email}</b>. It works for one hour.</p>`;

const keptFor = (email: string): Html =>
  html`<p>
    We wrote an email with a link for <b>${email}</b>. It works for one hour. No mail server is set.
    <a href="/console/outbox">Read it in the outbox.</a>
  </p>`;
