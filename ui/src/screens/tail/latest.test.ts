import { expect, test } from 'vitest';

import type { TailTrace } from '../../api/tail';
import { Latest, MAX_ROWS } from './latest';

const trace = (id: number, spans = 1) => ({ trace_id: String(id), total_spans: spans }) as TailTrace;
const ids = (latest: Latest) => latest.rows.map((row) => Number(row.trace_id));

test('the newest is first, and no more than the limit is kept', () => {
  const latest = new Latest();
  for (let from = 0; from < 2_000; from += 300) {
    latest.add(Array.from({ length: 300 }, (_, index) => trace(from + index)));
  }
  expect(ids(latest)).toEqual(Array.from({ length: MAX_ROWS }, (_, index) => 2_099 - index));
});

test('a trace that arrives again keeps its place and shows its last state', () => {
  const latest = new Latest();
  latest.add([trace(1), trace(2), trace(3)]);
  expect(latest.add([trace(1, 4), trace(4), trace(1, 9), trace(4, 2)])).toBe(1);
  expect(ids(latest)).toEqual([4, 3, 2, 1]);
  expect(latest.rows.map((row) => row.total_spans)).toEqual([2, 1, 1, 9]);
});

test('in any split of the arrivals the last states are the same', () => {
  const arrivals = Array.from({ length: 200 }, (_, index) => trace((index * 7) % 40, index));
  const whole = new Latest();
  whole.add(arrivals);
  for (const size of [1, 3, 50]) {
    const parts = new Latest();
    for (let from = 0; from < arrivals.length; from += size) parts.add(arrivals.slice(from, from + size));
    expect(new Map(parts.rows.map((row) => [row.trace_id, row.total_spans]))).toEqual(
      new Map(whole.rows.map((row) => [row.trace_id, row.total_spans])),
    );
  }
});
