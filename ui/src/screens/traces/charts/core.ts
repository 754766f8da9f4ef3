/** The buckets worth drawing: a trace of 2001 among those of this month would leave one bar at each end. */

/** Outliers are at most this part of everything. */
const MAX_SHARE = 0.01;
/** Outliers are this part of all buckets away. */
const MIN_GAP = 0.2;

/** The first and the last bucket of what is worth drawing, both included. */
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
  const first = cutFrom(counts, total, gap);
  const last = counts.length - 1 - cutFrom(counts.toReversed(), total, gap);
  return first <= last && last - first + 1 <= counts.length - gap ? { first, last } : null;
}

/** Returns where the first bucket stands that has no long gap behind it, or too much before that gap. */
function cutFrom(counts: readonly number[], total: number, gap: number): number {
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
