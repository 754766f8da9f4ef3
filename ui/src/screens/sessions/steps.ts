import type { Schema } from '../../api/client';
import { durationOf } from '../../format/duration';

type Node = Schema['TraceNode'];

/** A tool call or an agent between an input and its output. */
export interface Step {
  id: string;
  name: string;
  type: string;
  /** In milliseconds. */
  duration: number;
  failed: boolean;
}

/** The types of spans that are shown as steps. Other types are details. */
const SHOWN = new Set(['TOOL', 'AGENT', 'TEAM', 'WORKFLOW']);

/** Returns up to `limit` steps of a trace by start time, without the root, and the number of further steps. */
export function stepsOf(roots: readonly Node[], limit: number): { steps: Step[]; more: number } {
  const steps: Step[] = [];
  let count = 0;
  const waiting = [...roots].reverse().map((node) => ({ node, isRoot: true }));
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { node, isRoot } = next;
    if (SHOWN.has(node.type) && (!isRoot || node.type === 'TOOL')) {
      count += 1;
      if (steps.length < limit) steps.push(stepOf(node));
    }
    for (const child of [...(node.spans ?? [])].reverse()) waiting.push({ node: child, isRoot: false });
  }
  return { steps, more: count - steps.length };
}

function stepOf(node: Node): Step {
  const named = node.metadata?.['tool_name'];
  return {
    id: node.id,
    name: typeof named === 'string' ? named : node.name,
    type: node.type,
    duration: durationOf(node),
    failed: node.status === 'ERROR',
  };
}
