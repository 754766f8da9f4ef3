import { expect, test } from 'vitest';

import { coreOf } from './core';

const nothing = (length: number): number[] => new Array<number>(length).fill(0);
const month = Array.from({ length: 30 }, (_each, index) => 100 + index);

test.each([
  ['an early outlier', [1, ...nothing(30), ...month], { first: 31, last: 60 }],
  ['a late one', [...month, ...nothing(30), 2], { first: 0, last: 29 }],
  ['one at each end', [1, ...nothing(20), ...month, ...nothing(20), 3], { first: 21, last: 50 }],
  ['two on one side', [1, ...nothing(20), 1, ...nothing(20), ...month], { first: 42, last: 71 }],
  ['all in the last bucket but one trace', [1, ...nothing(58), 1135], { first: 59, last: 59 }],
  ['empty ends', [...nothing(20), ...month, ...nothing(20)], { first: 20, last: 49 }],
  ['one trace', [...nothing(9), 1, ...nothing(9)], { first: 9, last: 9 }],
])('%s: only the core is drawn', (_name, counts, core) => {
  expect(coreOf(counts)).toEqual(core);
});

test.each([
  ['nothing', nothing(60)],
  ['no bucket', []],
  ['a full range', month],
  ['two halves', [...month, ...nothing(30), ...month]],
  ['a long tail', [...month, 9, 3, 1, 0, 1, 0, 0, 1]],
  ['a third before a gap', [500, ...nothing(50), 1000]],
])('%s: all is drawn', (_name, counts) => {
  expect(coreOf(counts)).toBeNull();
});

test('what is left out is at most a fiftieth', () => {
  for (let seed = 1; seed < 400; seed += 1) {
    const counts = Array.from({ length: 60 }, (_each, index) => {
      const noise = (seed * 7919 + index * index * 104_729) % 97;
      return noise < 60 ? 0 : noise % 7 === 0 ? noise * 50 : noise % 3;
    });
    const core = coreOf(counts);
    if (core === null) continue;
    const total = counts.reduce((sum, count) => sum + count, 0);
    const kept = counts.slice(core.first, core.last + 1).reduce((sum, count) => sum + count, 0);
    expect(kept).toBeGreaterThanOrEqual(total * 0.98);
  }
});
