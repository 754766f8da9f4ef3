/** The position of a bar on the time axis. */
import type { Range, Timeline } from './timeline';

export interface Bar {
  /** Shares of the width of the axis, clamped to its ends. */
  from: number;
  to: number;
  /** The side on which the bar lies outside the axis. */
  outside: 'before' | 'after' | null;
}

/** Returns the bar of a time range. */
export function barOf(timeline: Timeline, { from, to }: Range): Bar {
  const start = timeline.position(from);
  const end = timeline.position(to);
  const outside = end < 0 ? 'before' : start > 1 ? 'after' : null;
  return { from: Math.min(Math.max(start, 0), 1), to: Math.min(Math.max(end, 0), 1), outside };
}
