/** The core of a chart without outliers: one trace from 2001 would leave only a bar at each end. */

/** The maximum share of outliers in the total. */
const MAX_SHARE = 0.01;
/** The minimum distance of outliers, as a share of the buckets. */
const MIN_GAP = 0.2;

/** The first and the last bucket to draw, both inclusive. */
export interface Core {
  first: number;
  last: number;
}

/**
 * Returns the buckets without outliers and empty ends; null if nearly all buckets remain.
 * An outlier is rare and far from the rest; the long tail of a distribution is not an outlier.
 */
export function coreOf(counts: readonly number[]): Core | null {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  const gap = Math.max(2, Math.ceil(counts.length * MIN_GAP));
  const first = firstInCore(counts, total, gap);
  const last = counts.length - 1 - firstInCore(counts.toReversed(), total, gap);
  return first <= last && last - first + 1 <= counts.length - gap ? { first, last } : null;
}

/** Returns the first bucket after leading outliers: no long gap follows it, or too many traces precede that gap. */
function firstInCore(counts: readonly number[], total: number, gap: number): number {
  let start = counts.findIndex((count) => count > 0);
  let passed = 0;
  let empty = 0;
  for (let index = start; index < counts.length; index += 1) {
    const count = counts[index] ?? 0;
    if (count > 0 && empty >= gap) start = index;
    empty = count > 0 ? 0 : empty + 1;
    passed += count;
    if (passed > total * MAX_SHARE && count > 0) break;
  }
  return start;
}
