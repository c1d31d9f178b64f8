/** Documents are scored in windows of so many; the sums of one stay in the first-level cache. */
export const WINDOW_BITS = 12;
export const WINDOW = 1 << WINDOW_BITS;
export const WINDOW_MASK = WINDOW - 1;
