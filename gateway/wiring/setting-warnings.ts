import type { Config } from './config.js';
import { ownUrl } from './own-url.js';

/**
 * Settings of a real chain whose absence stops nothing, but spoils something: a sentence each, by
 * name, for the start and the operator's page.
 */
export function settingWarnings(config: Config): readonly string[] {
  if (config.chain.kind !== 'mainnet') return [];
  const warnings: string[] = [];
  if (config.PUBLIC_URL === undefined) {
    warnings.push(
      `PUBLIC_URL is not set: quotes, mails and examples name ${ownUrl(config.HOST, config.PORT)}, ` +
        'which leads nobody here.',
    );
  }
  if (config.SMTP_URL === undefined) {
    warnings.push(
      'SMTP_URL is not set: no mail is sent, so nobody can sign up, get an invitation by mail, or ' +
        'set a new password.',
    );
  }
  return warnings;
}
