import { expect, test } from '@jest/globals';
import { startProgress } from '../../../search-core/ingest/progress.js';

function run(isTerminal: boolean) {
  let nowMs = 1_000;
  let out = '';
  const write = (text: string): void => void (out += text);
  const progress = startProgress({ write, isTerminal, columns: 200, nowMs: () => nowMs });
  const at = (ms: number, kept: number, bytes: number): void => {
    nowMs = 1_000 + ms;
    progress.show({ unit: 'lines', units: kept + 3, kept, dropped: 3, bytes, totalBytes: 8e6 });
  };
  return { at, end: () => progress.end(), out: () => out };
}

test('progress is one line repainted on a terminal, with the rate and the time that is left', () => {
  const { at, end, out } = run(true);
  at(100, 1, 1_000);
  expect(out()).toBe('');
  at(2_000, 5_000, 2e6);
  expect(out().trim()).toBe(
    '25 % · 5,003 lines · 5,000 kept · 3 dropped · 2,500 pages/s · 1.0 MB/s · 6 s left',
  );
  end();
  expect(out()).toMatch(/\r\s+\r$/u);
  expect(out()).not.toContain('\n');
});

test('progress is a plain line now and then where nobody watches', () => {
  const { at, end, out } = run(false);
  for (let ms = 0; ms <= 11_000; ms += 100) at(ms, ms, ms * 400);
  end();
  expect(out().split('\n')).toHaveLength(3);
  expect(out()).not.toContain('\r');
});
