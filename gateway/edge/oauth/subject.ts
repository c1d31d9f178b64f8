/** Who consented, and which account they chose to be charged. */
export interface Subject {
  readonly personId: string;
  readonly accountId: string;
}

/** The `sub` of a grant. Both ids are UUIDs or other words without a slash. */
export function subjectText({ personId, accountId }: Subject): string {
  return `${accountId}/${personId}`;
}
