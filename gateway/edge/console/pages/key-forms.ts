import type { Request } from 'express';
import type { KeyTerms, KeyView } from '../../../customers/keys/keys.js';
import { maskKey } from '../../../customers/keys/format.js';
import { RATE_PER_SECOND_MAX } from '../../../ground/domain/plan.js';
import { unixMillis, type UnixMillis } from '../../../ground/domain/units.js';
import { numberOf, textOf } from '../form.js';
import { html, type Html } from '../html.js';
import { field, notice } from '../page.js';
import { dialogForm, select } from '../ui/ask.js';

export const KEYS_PATH = '/console/keys';

const DAY_MS = 24 * 3600 * 1000;
const DAYS_MAX = 3650;
const BUDGET_MAX = 1_000_000_000;
export const OVERLAP_HOURS_MAX = 30 * 24;

/** What a form says about a key, as it was typed: shown again when something is wrong with it. */
interface TypedTerms {
  readonly name: string;
  readonly expires: string;
  readonly budget: string;
  readonly rate: string;
}

const EMPTY: TypedTerms = { name: '', expires: '', budget: '', rate: '' };

function typedTerms(request: Request): TypedTerms {
  const [name, expires] = [textOf(request, 'name', 80), textOf(request, 'expires', 20)];
  return {
    name,
    expires,
    budget: textOf(request, 'budget', 20),
    rate: textOf(request, 'rate', 20),
  };
}

function termsOf({ name, expiresAt, monthlyBudget, ratePerSecond }: KeyView): TypedTerms {
  return {
    name,
    // A key works until the end of the day that was chosen.
    expires: expiresAt === undefined ? '' : new Date(expiresAt - 1).toISOString().slice(0, 10),
    budget: monthlyBudget === undefined ? '' : String(monthlyBudget),
    rate: ratePerSecond === undefined ? '' : String(ratePerSecond),
  };
}

/**
 * The terms of a form, or what is wrong with them.
 *
 * @param was the key that is edited: a day that nobody touched keeps its exact time.
 */
export function readTerms(request: Request, now: number, was?: KeyView): KeyTerms | string {
  const { name, expires } = typedTerms(request);
  const monthlyBudget = numberOf(request, 'budget', { min: 1, max: BUDGET_MAX });
  const ratePerSecond = numberOf(request, 'rate', { min: 1, max: RATE_PER_SECOND_MAX });
  const isUntouched = was !== undefined && termsOf(was).expires === expires;
  const expiresAt = isUntouched
    ? was.expiresAt
    : expires === ''
      ? undefined
      : endOfDay(expires, now);
  if (name === '') return 'Enter a name for the key.';
  if (expiresAt === 'invalid') return 'A key must expire within 1 to 3650 days.';
  if (Number.isNaN(monthlyBudget)) return 'The monthly budget must be a whole number of credits.';
  if (Number.isNaN(ratePerSecond)) return `The rate must be between 1 and ${RATE_PER_SECOND_MAX}.`;
  return {
    name,
    ...(expiresAt !== undefined && { expiresAt }),
    ...(monthlyBudget !== undefined && { monthlyBudget }),
    ...(ratePerSecond !== undefined && { ratePerSecond }),
  };
}

/** The end of a day (UTC) that is yet to come: `2026-12-31`. */
function endOfDay(text: string, now: number): UnixMillis | 'invalid' {
  const start = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : NaN;
  const end = start + DAY_MS;
  return end > now && end <= now + (DAYS_MAX + 1) * DAY_MS ? unixMillis(end) : 'invalid';
}

function termFields(typed: TypedTerms): Html {
  return html`${field({ name: 'name', label: 'Name', value: typed.name, hint: 'What will use it', maxLength: 80 })}
  ${field({ name: 'budget', label: 'Credits per month', type: 'number', value: typed.budget, hint: 'Empty for no limit', isOptional: true, min: 1, max: BUDGET_MAX })}
  ${field({ name: 'rate', label: 'Searches per second', type: 'number', value: typed.rate, hint: 'Empty for the account’s own limit', isOptional: true, min: 1, max: RATE_PER_SECOND_MAX })}
  ${field({ name: 'expires', label: 'Last day it works, UTC', type: 'date', value: typed.expires, hint: 'Empty for a key that doesn’t expire', isOptional: true })}`;
}

const faultOf = (fault: string | undefined) => fault !== undefined && notice('bad', fault);

/** The form of a new key; with what was typed where something was wrong with it. */
export function createForm(refused?: { request: Request; fault: string }): Html {
  return html`${faultOf(refused?.fault)}
  ${dialogForm({
    action: KEYS_PATH,
    body: termFields(refused ? typedTerms(refused.request) : EMPTY),
    does: 'Create key',
    back: KEYS_PATH,
  })}`;
}

export function editForm(key: KeyView, refused?: { request: Request; fault: string }): Html {
  return html`${faultOf(refused?.fault)}
  ${dialogForm({
    action: `${KEYS_PATH}/${key.id}/edit`,
    body: termFields(refused ? typedTerms(refused.request) : termsOf(key)),
    does: 'Save changes',
    back: KEYS_PATH,
  })}`;
}

export function rotateForm(key: KeyView): Html {
  return dialogForm({
    action: `${KEYS_PATH}/${key.id}/rotate`,
    body: html`<p>
        You get a new key with the same limits. <code>${maskKey(key.last4)}</code> keeps working
        until every user of it has changed over.
      </p>
      ${select({
        name: 'hours',
        label: 'The old key keeps working',
        options: [
          ['0', 'not at all'],
          ['24', 'for 24 hours'],
          ['168', 'for 7 days'],
        ],
        value: '24',
      })}`,
    does: 'Rotate key',
    back: KEYS_PATH,
  });
}

export function revokeForm(key: KeyView): Html {
  return dialogForm({
    action: `${KEYS_PATH}/${key.id}/revoke`,
    body: html`<p>
      Every search with <code>${maskKey(key.last4)}</code> is refused from now on. You can’t take
      this back.
    </p>`,
    does: 'Revoke key',
    isDanger: true,
    back: KEYS_PATH,
  });
}
