/** Where a bar is on the time axis. */
import type { Range, Timeline } from './timeline';

export interface Bar {
  /** Shares of the width of the axis, cut at its ends. */
  from: number;
  to: number;
  /** Where the bar is if none of it is seen. */
  outside: 'before' | 'after' | null;
}

/** Returns the bar of a stretch of time. */
export function barOf(timeline: Timeline, { from, to }: Range): Bar {
  const start = timeline.position(from);
  const end = timeline.position(to);
  const outside = end < 0 ? 'before' : start > 1 ? 'after' : null;
  return { from: Math.min(Math.max(start, 0), 1), to: Math.min(Math.max(end, 0), 1), outside };
}
