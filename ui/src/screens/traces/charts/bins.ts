/** The bins of a distribution, whose edges are whole milliseconds. */
import type { Histogram } from '../../../api/aggregate';
import { all, conjuncts, type Expression } from '../../../filter/expression';
import { readNode } from '../../../filter/tree';

export const EMPTY: Histogram = { edges: [], counts: [] };

/** Returns the range of durations of a range of bins (both inclusive); its end is exclusive. */
export function durationsOf({ edges }: Histogram, first: number, last: number): { from: number; to: number } | null {
  const from = edges[Math.max(first, 0)];
  const to = edges[Math.min(last + 1, edges.length - 1)];
  return from === undefined || to === undefined || from >= to ? null : { from, to };
}

/** Returns a filter with these bounds on the duration, replacing earlier bounds. */
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
