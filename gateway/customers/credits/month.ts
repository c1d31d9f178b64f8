/** The calendar month in UTC, as year * 100 + month. */
export function monthOf(unixMs: number): number {
  const date = new Date(unixMs);
  return date.getUTCFullYear() * 100 + date.getUTCMonth() + 1;
}
