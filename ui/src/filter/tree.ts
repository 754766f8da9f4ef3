/** The nodes of a filter. A path is the list of child indexes from the root to a node. */
import type { Condition, Expression, Group, Value } from './expression';

export type Steps = readonly number[];

/** The kind of a node in an editor. `unknown` is shown as JSON and never changed. */
export type Node =
  | { kind: 'group'; op: 'AND' | 'OR'; children: Expression[] }
  | { kind: 'negation'; child: Expression }
  | { kind: 'condition'; condition: Condition; values: Value[] }
  | { kind: 'unknown' };

const COMPARISONS = new Set(['EQ', 'NEQ', 'GT', 'GTE', 'LT', 'LTE', 'CONTAINS', 'STARTSWITH', 'IN', 'EXISTS']);

/** Reads a node. A node with an unexpected member is `unknown`, so that no editor loses the member. */
export function readNode(expression: Expression): Node {
  const members = expression as unknown as Record<string, unknown>;
  const op = members['op'];
  const has = (...names: string[]) => Object.keys(members).every((name) => name === 'op' || names.includes(name));
  if ((op === 'AND' || op === 'OR') && has('conditions') && isNodes(members['conditions'])) {
    return { kind: 'group', op, children: members['conditions'] };
  }
  if (op === 'NOT') return readNegation(members, has);
  if (typeof op !== 'string' || !COMPARISONS.has(op) || typeof members['key'] !== 'string') return { kind: 'unknown' };
  if (!has('key', 'value', 'values', 'ignore_case')) return { kind: 'unknown' };
  const values = readValues(op, members);
  if (values === null) return { kind: 'unknown' };
  return { kind: 'condition', condition: expression as Condition, values };
}

function readNegation(members: Record<string, unknown>, has: (...names: string[]) => boolean): Node {
  const many = members['conditions'];
  if (has('condition') && isNode(members['condition'])) return { kind: 'negation', child: members['condition'] };
  if (has('conditions') && isNodes(many) && many.length === 1) {
    return { kind: 'negation', child: many[0] as Expression };
  }
  return { kind: 'unknown' };
}

function readValues(op: string, members: Record<string, unknown>): Value[] | null {
  const { value, values } = members;
  if (op === 'EXISTS') return value === undefined && values === undefined ? [] : null;
  if (op === 'IN') {
    const given = values ?? value;
    return Array.isArray(given) && given.every(isValue) ? given : null;
  }
  return values === undefined && isValue(value) ? [value] : null;
}

function isValue(value: unknown): value is Value {
  return value !== undefined && (value === null || typeof value !== 'object');
}

function isNode(value: unknown): value is Expression {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isNodes(value: unknown): value is Expression[] {
  return Array.isArray(value) && value.length > 0 && value.every(isNode);
}

/** Returns the children of a node; empty for a condition. */
export function childrenOf(expression: Expression): Expression[] {
  const node = readNode(expression);
  if (node.kind === 'group') return node.children;
  return node.kind === 'negation' ? [node.child] : [];
}

/** Returns the node at a path, or null. */
export function nodeAt(root: Expression | null, steps: Steps): Expression | null {
  let node: Expression | null = root;
  for (const step of steps) node = node === null ? null : (childrenOf(node)[step] ?? null);
  return node;
}

/** Returns a filter with the node at a path replaced. Null removes the node and groups that become empty. */
export function replaceAt(root: Expression | null, steps: Steps, by: Expression | null): Expression | null {
  const [step, ...rest] = steps;
  if (root === null || step === undefined) return by;
  const children = childrenOf(root);
  const child = children[step];
  if (child === undefined) return root;
  const changed = replaceAt(child, rest, by);
  const node = readNode(root);
  if (node.kind === 'negation') return changed === null ? null : { op: 'NOT', condition: changed };
  const conditions = changed === null ? children.toSpliced(step, 1) : children.with(step, changed);
  return conditions.length === 0 ? null : { op: (root as Group).op, conditions };
}

/** Returns a filter with a node added to the group at a path. Any other node at the path is wrapped in an AND. */
export function addAt(root: Expression | null, steps: Steps, added: Expression): Expression {
  const node = nodeAt(root, steps);
  if (node === null) return root ?? added;
  const read = readNode(node);
  const group: Group =
    read.kind === 'group'
      ? { op: read.op, conditions: [...read.children, added] }
      : { op: 'AND', conditions: [node, added] };
  return replaceAt(root, steps, group) ?? added;
}

/** Returns true if chips show the filter completely: an AND of conditions, negated or not. */
export function isFlat(root: Expression | null): boolean {
  if (root === null) return true;
  const node = readNode(root);
  const leaves = node.kind === 'group' && node.op === 'AND' ? node.children : [root];
  return leaves.every((leaf) => {
    const read = readNode(leaf);
    return read.kind === 'condition' || (read.kind === 'negation' && readNode(read.child).kind === 'condition');
  });
}

/**
 * Returns the path of the node that contains a JSON path of the service: `[1]` for `$.conditions[1].value`.
 * Conditions inside `SPAN` belong to that node.
 */
export function stepsOf(path: string): number[] {
  const steps: number[] = [];
  const [outside = ''] = path.split('.where');
  for (const [, index] of outside.matchAll(/\.conditions\[(\d+)\]|\.condition(?=[.[]|$)/g)) {
    steps.push(index === undefined ? 0 : Number(index));
  }
  return steps;
}

export function isSame(a: Steps | null, b: Steps): boolean {
  return a?.length === b.length && b.every((step, index) => a[index] === step);
}
