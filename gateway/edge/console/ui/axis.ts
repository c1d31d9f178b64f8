/** At most this many steps above zero. */
const STEPS_MAX = 4;

/**
 * The marks of an axis from zero to at least `top`, a round step apart: 1, 2 or 5 times a power of
 * ten (Heckbert, "Nice numbers for graph labels", Graphics Gems, 1990). Whole numbers from 4 on.
 */
export function roundSteps(top: number): readonly number[] {
  if (top <= 0) return [0, 1];
  const rough = top / STEPS_MAX;
  const power = 10 ** Math.floor(Math.log10(rough));
  const factor = [1, 2, 5, 10].find((one) => one * power >= rough - 1e-12) ?? 10;
  const step = factor * power;
  const count = Math.ceil(top / step - 1e-9);
  // Steps are counted, not added up, so that 0.1 three times is 0.3.
  return Array.from({ length: count + 1 }, (_, at) => Number((at * step).toPrecision(12)));
}
