import type { Response, Router } from 'express';
import { html } from '../html.js';
import { sendPage } from '../page.js';
import type { ConsoleParts } from '../parts.js';
import { sayAndGo } from '../said.js';

const PATH = '/console/mail-sent';

/** What a person does after asking for a link by mail. */
export function mailSentPage(router: Router, { outbox }: ConsoleParts): void {
  router.get('/mail-sent', (_request, response) => {
    sendPage(response, {
      title: 'Check your email',
      body: html`<p>Open the link in it to go on. It works for one hour.</p>
        ${
          outbox &&
          html`<p>
            No mail server is set, so email stays here.
            <a href="/console/outbox">Read it in the outbox.</a>
          </p>`
        }`,
    });
  });
}

/** Leads there after a mail was sent; says so where no mail can reach anybody. */
export function goToMail(response: Response, parts: ConsoleParts, email: string): void {
  if (!parts.isMailSent && !parts.outbox) {
    sendPage(response, { title: 'No email was sent', status: 503, body: html`<p>${NO_MAIL}</p>` });
    return;
  }
  sayAndGo(response, undefined, PATH, { kind: 'good', text: `We sent a link to ${email}.` });
}

const NO_MAIL =
  'This service can’t send email yet, so we can’t send you a link. Ask its operator to set a mail server (SMTP_URL).';
