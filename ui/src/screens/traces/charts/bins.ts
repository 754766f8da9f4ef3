/** The bins of a distribution, whose edges are whole milliseconds. */
import type { Histogram } from '../../../api/aggregate';
import { all, conjuncts, type Expression } from '../../../filter/expression';
import { readNode } from '../../../filter/tree';

export const EMPTY: Histogram = { edges: [], counts: [] };

/** Returns the durations of the bins from one to another, both included: from the first on, and below the second. */
export function durationsOf({ edges }: Histogram, first: number, last: number): { from: number; to: number } | null {
  const from = edges[Math.max(first, 0)];
  const to = edges[Math.min(last + 1, edges.length - 1)];
  return from === undefined || to === undefined || from >= to ? null : { from, to };
}

/** Returns a filter for durations within bounds, instead of the bounds that it had. */
export function withDurations(
  filter: Expression | null,
  { from, to }: { from: number; to: number },
): Expression | null {
  const others = conjuncts(filter).filter((conjunct) => {
    const node = readNode(conjunct);
    const isBound = node.kind === 'condition' && ['GT', 'GTE', 'LT', 'LTE'].includes(node.condition.op);
    return !(isBound && node.condition.key === 'duration_ms');
  });
  return all(...others, { op: 'GTE', key: 'duration_ms', value: from }, { op: 'LT', key: 'duration_ms', value: to });
}
