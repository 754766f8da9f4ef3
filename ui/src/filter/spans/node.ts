/** Conditions on spans, as filters have them: `SPAN` and the axes inside of it (docs/reference/filter.md#spans). */
import type { Expression } from '../expression';
import { readNode } from '../tree';
import { AXES, OPTIONS, readOptions, type Axis, type AxisOptions } from './options';

/** `SPAN`: `least` to `most` spans of a trace match `where`; no upper limit without `most`. */
export interface SpanNode {
  name: string | null;
  least: number;
  most: number | null;
  where: Expression;
}

/** An axis: a span on it matches `where` or, if negated, none does. */
export interface AxisNode {
  name: string | null;
  axis: Axis;
  negated: boolean;
  where: Expression;
  options: AxisOptions;
}

/**
 * Reads a condition on the spans of a trace; null for other expressions and for invalid conditions.
 * `NOT` of at least one span is read as zero spans.
 */
export function readSpan(expression: Expression): SpanNode | null {
  const outer = readNode(expression);
  if (outer.kind === 'negation') {
    const inner = readPlainSpan(outer.child);
    return inner?.least === 1 && inner.most === null ? { ...inner, least: 0, most: 0 } : null;
  }
  return readPlainSpan(expression);
}

function readPlainSpan(expression: Expression): SpanNode | null {
  const read = readMembers(expression, ['as', 'at_least', 'at_most', 'where']);
  if (read?.op !== 'SPAN') return null;
  const { at_least: least, at_most: most } = read.members;
  if (!isBound(least) || !isBound(most)) return null;
  const { name, where } = read;
  // The service reads this as zero spans, although the default minimum is one.
  if (most === 0 && least === undefined) return { name, least: 0, most, where };
  const bounds = { least: least ?? 1, most: most ?? null };
  return bounds.most !== null && bounds.most < bounds.least ? null : { name, ...bounds, where };
}

/** Reads a condition on an axis, negated or not; null for other expressions. */
export function readAxis(expression: Expression): AxisNode | null {
  const outer = readNode(expression);
  const negated = outer.kind === 'negation';
  const read = readMembers(negated ? outer.child : expression, ['as', 'where', ...OPTIONS]);
  const axis = AXES.find((each) => each === read?.op);
  if (read === null || axis === undefined) return null;
  const options = readOptions(axis, read.members);
  return options === null ? null : { name: read.name, axis, negated, where: read.where, options };
}

/** Returns the conditions of a conjunction on one span. */
export function partsOf(where: Expression): Expression[] {
  const node = readNode(where);
  return node.kind === 'group' && node.op === 'AND' ? node.children : [where];
}

interface Members {
  op: unknown;
  name: string | null;
  where: Expression;
  members: Record<string, unknown>;
}

function readMembers(expression: Expression, known: string[]): Members | null {
  const members = expression as Record<string, unknown>;
  const { op, as: name, where } = members;
  if (!Object.keys(members).every((member) => member === 'op' || known.includes(member))) return null;
  if (name !== undefined && typeof name !== 'string') return null;
  if (typeof where !== 'object' || where === null || Array.isArray(where)) return null;
  return { op, name: name ?? null, where: where as Expression, members };
}

function isBound(value: unknown): value is number | undefined {
  return value === undefined || (Number.isSafeInteger(value) && (value as number) >= 0);
}
