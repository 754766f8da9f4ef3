import { describe, expect, test } from 'vitest';

import { stepOf, ticksOf } from './ticks';
import { clampRange, idleGaps, idleShare, readRange, Timeline, writeRange } from './timeline';
import { drawing } from '../../../testing/drawing';
import { randomSpans, spansOf } from './testing/random-spans';

describe.each([1, 2, 3, 4, 5, 6, 7, 8])('laws of a timeline, seed %d', (seed) => {
  const draw = drawing(seed);
  const whole = { from: 0, to: 10_000 + draw(1_000_000) };
  const cuts = Array.from({ length: 6 }, () => draw(whole.to)).sort((one, other) => one - other);
  const gaps = [0, 2, 4].map((at) => ({ from: cuts[at] ?? 0, to: (cuts[at + 1] ?? 0) + 1 }));
  const range = clampRange({ from: draw(whole.to), to: draw(whole.to) }, whole);
  const timeline = new Timeline(whole, range, seed % 2 === 0 ? gaps : []);

  test('its ends are 0 and 1, and it rises', () => {
    expect(timeline.position(range.from)).toBeCloseTo(0, 9);
    expect(timeline.position(range.to)).toBeCloseTo(1, 9);
    const positions = Array.from({ length: 50 }, (_, at) => timeline.position((whole.to * at) / 50));
    expect([...positions].sort((one, other) => one - other)).toEqual(positions);
  });

  test('a position leads back to its moment', () => {
    for (let at = 0; at <= 20; at += 1) {
      const time = (whole.to * at) / 20;
      expect(timeline.timeAt(timeline.position(time))).toBeCloseTo(time, 3);
    }
  });

  test('ticks are in the range, apart, and not too many', () => {
    const ticks = ticksOf(timeline, 8);
    expect(ticks.length).toBeLessThanOrEqual(14);
    ticks.forEach((tick, at) => {
      expect(tick.position).toBeGreaterThanOrEqual(-1e-9);
      expect(tick.position).toBeLessThanOrEqual(1 + 1e-9);
      if (at > 0) expect(tick.position - (ticks[at - 1]?.position ?? 0)).toBeGreaterThanOrEqual(0.07);
    });
  });
});

test.each([
  [0.3, 1],
  [3, 5],
  [60, 100],
  [300_000, 500_000],
  [600_000, 1e6],
  [11e6, 15e6],
  [100e6, 120e6],
  [5000e6, 7200e6],
])('the step of at least %d is %d', (least, step) => {
  expect(stepOf(least)).toBe(step);
});

test('time in which only a parent runs is idle', () => {
  const spans = spansOf({ parent: [-1, 0, 0], start: [0, 0, 900], duration: [1000, 100, 100] });
  const gaps = idleGaps(spans);
  expect(gaps).toEqual([{ from: 100, to: 900 }]);
  expect(idleShare(spans, gaps)).toBeCloseTo(0.8);
});

test.each([1, 2, 3, 4])('no leaf runs in a gap, seed %d', (seed) => {
  const spans = randomSpans(seed, 20);
  for (const gap of idleGaps(spans)) {
    spans.size.forEach((size, span) => {
      if (size === 1) expect((spans.end[span] ?? 0) <= gap.from || (spans.start[span] ?? 0) >= gap.to).toBe(true);
    });
  }
});

test('a range survives its address', () => {
  expect(readRange(writeRange({ from: 12, to: 4500 }))).toEqual({ from: 12, to: 4500 });
  expect(writeRange(null)).toBeNull();
  for (const text of [null, '', '5', '9-3', '-1-4', 'a-b']) expect(readRange(text)).toBeNull();
});

test('a range is kept within the whole, and is never empty', () => {
  const whole = { from: 0, to: 100 };
  expect(clampRange({ from: 150, to: -5 }, whole)).toEqual({ from: 0, to: 100 });
  expect(clampRange({ from: 40, to: 40 }, whole)).toEqual({ from: 39, to: 40 });
  expect(clampRange({ from: 0, to: 0 }, whole)).toEqual({ from: 0, to: 1 });
  expect(clampRange({ from: 500, to: 600 }, whole)).toEqual({ from: 99, to: 100 });
});
