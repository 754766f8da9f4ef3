import { expect, test } from 'vitest';

import { durationOf, formatDuration } from './duration';

test.each([
  [0, '0 ms'],
  [0.004, '4 µs'],
  [4.236, '4.24 ms'],
  [384.4, '384 ms'],
  [999.7, '1 s'],
  [3454, '3.45 s'],
  [59_999, '1 min'],
  [125_000, '2 min 5 s'],
  [3_600_000, '1 h'],
  [10_920_000, '3 h 2 min'],
  [200_000_000, '2 d 8 h'],
])('%d ms is %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});

test.each([
  ['2026-11-22T16:27:14.475779Z', '2026-11-22T16:27:14.860162Z', 384.383],
  ['2026-11-22T16:27:14.999999Z', '2026-11-22T16:27:15Z', 0.001],
  ['2026-11-22T16:27:14Z', '2026-11-22T16:27:14Z', 0],
])('from %s to %s are %d ms', (start_time, end_time, ms) => {
  expect(durationOf({ start_time, end_time })).toBeCloseTo(ms, 6);
});
