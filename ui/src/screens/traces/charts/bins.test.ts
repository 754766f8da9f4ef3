import { expect, test } from 'vitest';

import type { Expression } from '../../../filter/expression';
import { durationsOf, withDurations } from './bins';

const HISTOGRAM = { edges: [0, 1, 10, 100, 1000], counts: [1, 2, 3, 4] };

test('chosen bins are their durations, and no more than there are', () => {
  expect(durationsOf(HISTOGRAM, 1, 2)).toEqual({ from: 1, to: 100 });
  expect(durationsOf(HISTOGRAM, -5, 99)).toEqual({ from: 0, to: 1000 });
  expect(durationsOf(HISTOGRAM, 3, 2)).toBeNull();
  expect(durationsOf({ edges: [], counts: [] }, 0, 0)).toBeNull();
});

test('durations replace the bounds that were there, and leave all else', () => {
  const other: Expression = { op: 'EQ', key: 'status', value: 'ERROR' };
  const once = withDurations(other, { from: 1, to: 100 });
  expect(withDurations(once, { from: 10, to: 20 })).toEqual(withDurations(other, { from: 10, to: 20 }));
  expect(once).toMatchObject({ op: 'AND', conditions: [other, { op: 'GTE', value: 1 }, { op: 'LT', value: 100 }] });
});
