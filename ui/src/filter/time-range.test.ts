import { expect, test } from 'vitest';

import { boundsOf, rangeWords, RANGES, readRange, startsWithin, writeRange, type TimeRange } from './time-range';

const NOW = Date.parse('2026-11-23T02:00:00Z');
const INSTANT = '2026-11-22T00:00:00.000Z';

test.each([
  ...RANGES.flatMap((text) => readRange(text, null) ?? []),
  { kind: 'all' },
  { kind: 'absolute', from: INSTANT, to: null },
  { kind: 'absolute', from: null, to: INSTANT },
  { kind: 'absolute', from: '2026-11-21', to: INSTANT },
] as TimeRange[])('a range survives its address: %j', (range) => {
  const { from, to } = writeRange(range);
  expect(readRange(from, to)).toEqual(range);
});

test.each([
  ['-1', null],
  ['soon', null],
  [null, 'later'],
  ['-1h', INSTANT],
  ['2026-13-45', null],
  ['1', null],
])('from %j to %j is no range', (from, to) => {
  expect(readRange(from, to)).toBeUndefined();
});

test('a relative range is counted from now, and open at its end', () => {
  const range = readRange('-1h', null) as TimeRange;
  expect(boundsOf(range, NOW)).toEqual({ from: '2026-11-23T01:00:00.000Z', to: null });
  expect(rangeWords(range)).toBe('Last hour');
});

test('bounds are a condition on the start: from is inside, to is not', () => {
  expect(startsWithin({ from: null, to: null })).toBeNull();
  expect(startsWithin({ from: INSTANT, to: null })).toEqual({ op: 'GTE', key: 'start_time', value: INSTANT });
  expect(startsWithin({ from: INSTANT, to: INSTANT })).toMatchObject({ op: 'AND', conditions: [{}, { op: 'LT' }] });
});
