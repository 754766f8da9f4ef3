import { expect, test } from 'vitest';

import type { Aggregates, GroupNumbers } from '../../../api/aggregate';
import { CHARTS, countsOf, readChart, readSplit, requestOf, seriesOf, SPLITS, stack, type Chart } from './series';

const ALL = Object.keys(CHARTS) as Chart[];
const TIME = {
  interval_ms: 60_000,
  from: '2026-11-22T00:00:00Z',
  to: '2026-11-22T00:02:00Z',
  starts: ['2026-11-22T00:00:00Z', '2026-11-22T00:01:00Z'],
  first_cut: false,
  last_cut: true,
};

/** Measures of a group, as the service would answer a request of a chart. */
function measured(chart: Chart, by: string | null, factor: number): GroupNumbers {
  const names = requestOf(chart, by).measures.map((measure) => measure.name);
  const total = Object.fromEntries(names.map((name, index) => [name, factor * (index + 1) * 3]));
  const series = Object.fromEntries(
    names.map((name, index) => [name, [factor * (index + 1), factor * (index + 1) * 2]]),
  );
  return { total, series };
}

function answer(chart: Chart, by: string | null): Aggregates {
  const groups =
    by === null
      ? [{ by: {}, ...measured(chart, by, 1) }]
      : ['a', null].map((value, index) => ({ by: { [by]: value }, ...measured(chart, by, index + 1) }));
  const data = { time: TIME, groups, groups_total: 3, ...(by === null ? {} : { other: measured(chart, by, 5) }) };
  return { data, meta: { search_time_ms: 1, matched: 1 } };
}

test.each(ALL)(
  '%s: every series has a value a bucket, and bars of an additive measure add up to their total',
  (chart) => {
    for (const by of [null, ...SPLITS]) {
      const { series, starts, kind } = seriesOf(answer(chart, by), chart, by);
      expect(starts).toEqual([Date.parse('2026-11-22T00:00:00Z'), Date.parse('2026-11-22T00:01:00Z')]);
      for (const { values, total } of series) {
        expect(values).toHaveLength(2);
        if (kind === 'bars') expect(values.reduce<number>((sum, value) => sum + (value ?? 0), 0)).toBe(total);
      }
    }
  },
);

test('failed and succeeded traces are all traces', () => {
  const [failed, succeeded] = seriesOf(answer('runs', null), 'runs', null).series;
  expect((failed?.total ?? 0) + (succeeded?.total ?? 0)).toBe(6);
});

test('a missing value and the groups beyond the limit have their own names', () => {
  const names = seriesOf(answer('runs', 'agent_id'), 'runs', 'agent_id').series.map((series) => series.name);
  expect(names).toEqual(['a', 'without', 'others']);
});

test('traces are counted over all groups and those beyond the limit', () => {
  expect(countsOf(answer('errors', 'agent_id'))).toEqual([2 * (1 + 2 + 5), 4 * (1 + 2 + 5)]);
  expect(countsOf({ data: { groups: [] }, meta: { search_time_ms: 1, matched: 0 } })).toEqual([]);
});

test('an empty answer has no series', () => {
  const empty = { data: { groups: [] }, meta: { search_time_ms: 1, matched: 0 } };
  for (const chart of ALL) expect(seriesOf(empty, chart, null).series).toEqual([]);
});

test('bars stand on each other', () => {
  const { series } = seriesOf(answer('tokens', 'agent_id'), 'tokens', 'agent_id');
  const heights = stack(series);
  expect(heights.at(-1)?.[0]).toBe(series.reduce((sum, { values }) => sum + (values[0] ?? 0), 0));
  for (const [index, height] of heights.entries())
    expect(height[0]).toBeGreaterThanOrEqual(heights[index - 1]?.[0] ?? 0);
});

test('an address names a chart and a split, or neither', () => {
  for (const chart of ALL) expect(readChart(chart)).toBe(chart);
  expect(readChart('toString')).toBe('runs');
  for (const key of SPLITS) expect(readSplit(key)).toBe(key);
  expect(readSplit('trace_id')).toBeNull();
});
