/** Detects filters whose matches can be explained: docs/reference/api-search.md#matches. */

const TEXTS: readonly unknown[] = ['input', 'output', 'error', 'text'];

/** Returns true if a filter has a condition on spans or texts outside `NOT`. */
export function hasMatches(filter: unknown): boolean {
  if (typeof filter !== 'object' || filter === null) return false;
  const { op, key, conditions } = filter as Record<string, unknown>;
  if (op === 'AND' || op === 'OR') return Array.isArray(conditions) && conditions.some(hasMatches);
  return op === 'SPAN' || (op === 'CONTAINS' && TEXTS.includes(key));
}
