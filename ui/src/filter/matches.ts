/** What of a filter says of each trace why it matches: docs/reference/api-search.md#matches. */

const TEXTS: readonly unknown[] = ['input', 'output', 'error', 'text'];

/** Whether a filter asks for spans or for what was said, elsewhere than under NOT. */
export function hasMatches(filter: unknown): boolean {
  if (typeof filter !== 'object' || filter === null) return false;
  const { op, key, conditions } = filter as Record<string, unknown>;
  if (op === 'AND' || op === 'OR') return Array.isArray(conditions) && conditions.some(hasMatches);
  return op === 'SPAN' || (op === 'CONTAINS' && TEXTS.includes(key));
}
