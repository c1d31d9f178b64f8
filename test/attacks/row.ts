/** One line of the table that `npm run attack` prints. */
export interface AttackRow {
  /** What the attacker does, in a few words. */
  readonly attack: string;
  /** How often the attacker tried. */
  readonly tries: number;
  /** How many tries did harm. 0 is the promise. */
  readonly gotThrough: number;
  /** What the tries cost the attacker, with units. */
  readonly costToAttacker: string;
  /** What the tries cost us, with units. */
  readonly costToUs: string;
  readonly note?: string;
}
