/** Below so many bytes a loop copies faster than `set`, which needs an object for the part. */
const COPY_BY_LOOP_MAX = 64;

/** Copies the bytes from `start` to `end` to `target`, from `at` on. */
export function copyBytes(
  bytes: Uint8Array,
  start: number,
  end: number,
  target: Uint8Array,
  at: number,
): void {
  if (end - start > COPY_BY_LOOP_MAX) target.set(bytes.subarray(start, end), at);
  else for (let i = start; i < end; i++) target[at + i - start] = bytes[i] ?? 0;
}
