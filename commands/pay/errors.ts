/** Why a paid search did not come about. */
export type PayErrorCode =
  /** Nobody answers at the gateway's address. */
  | 'unreachable'
  /** The gateway asks for more than the cap, or for something that cannot be paid. */
  | 'not-payable'
  /** The gateway refused; nothing was paid. */
  | 'refused'
  /** A payment was signed and sent, and what became of it is not known. */
  | 'unknown-outcome';

/** A failure with one or two sentences for the person at the terminal. */
export class PayError extends Error {
  override readonly name = 'PayError';
  constructor(
    readonly code: PayErrorCode,
    message: string,
  ) {
    super(message);
  }
}
