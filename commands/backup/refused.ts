/** Why a backup is not made, or not put back. Programs read the code. */
export type BackupFault =
  | 'not-a-backup'
  | 'not-finished'
  | 'newer-backup'
  | 'newer-books'
  | 'unknown-settings'
  | 'damaged'
  | 'wrong-key'
  | 'needs-key'
  | 'rule-broken'
  | 'chain-differs'
  | 'not-empty'
  | 'index-damaged'
  | 'bad-key-file';

/** Nothing was changed; the message says what is wrong and what to do. */
export class BackupRefused extends Error {
  override readonly name = 'BackupRefused';
  constructor(
    readonly fault: BackupFault,
    message: string,
    options?: ErrorOptions,
  ) {
    super(`${fault}: ${message}`, options);
  }
}
