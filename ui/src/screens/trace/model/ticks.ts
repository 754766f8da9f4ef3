/** The ticks of a time axis. */
import type { Timeline } from './timeline';

export interface Tick {
  /** Microseconds after the start of the trace. */
  time: number;
  /** Its position, from 0 to 1. */
  position: number;
}

/** Common steps of seconds and longer, in microseconds. */
const LONG_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400];

/** Returns the shortest step of 1, 2, 5, 10, ... microseconds, seconds, minutes, hours or days that is at least `least`. */
export function stepOf(least: number): number {
  const long = LONG_STEPS.find((seconds) => seconds * 1e6 >= least);
  if (least > 5e5 && long !== undefined) return long * 1e6;
  const scale = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  return ([1, 2, 5, 10].find((factor) => factor * scale >= least) ?? 10) * scale;
}

/** Returns about `count` ticks or fewer, without ticks in folded time. */
export function ticksOf(timeline: Timeline, count: number): Tick[] {
  const { range, gaps } = timeline;
  const idle = gaps.reduce((sum, gap) => sum + overlap(gap, range), 0);
  const step = stepOf((range.to - range.from - idle) / Math.max(count, 1));
  const least = 0.6 / Math.max(count, 1);
  const ticks: Tick[] = [];
  let time = Math.ceil(range.from / step) * step;
  while (time <= range.to) {
    const gap = gaps.find((each) => time > each.from && time < each.to);
    if (gap !== undefined) {
      time = Math.ceil(gap.to / step) * step;
      continue;
    }
    const position = timeline.position(time);
    const last = ticks.at(-1);
    if (last === undefined || position - last.position >= least) ticks.push({ time, position });
    time += step;
  }
  return ticks;
}

function overlap(gap: { from: number; to: number }, range: { from: number; to: number }): number {
  return Math.max(0, Math.min(gap.to, range.to) - Math.max(gap.from, range.from));
}
