/** Conditions on spans, as filters have them: `SPAN` and the axes inside of it (docs/reference/filter.md#spans). */
import type { Expression } from '../expression';
import { readNode } from '../tree';
import { OPTIONS, readOptions, type AxisOptions } from './options';

/** How one span is related to another, in the order in which they are offered. */
export const AXES = ['FOLLOWED_BY', 'PRECEDED_BY', 'PARENT', 'ANCESTOR', 'CHILD', 'DESCENDANT', 'SIBLING'] as const;
export type Axis = (typeof AXES)[number];

/** `SPAN`: from `least` to `most` spans of a trace are as `where` says; without a `most` any number more. */
export interface SpanNode {
  name: string | null;
  least: number;
  most: number | null;
  where: Expression;
}

/** An axis: a span as `where` says exists on it, or, if negated, does not. */
export interface AxisNode {
  name: string | null;
  axis: Axis;
  negated: boolean;
  where: Expression;
  options: AxisOptions;
}

/**
 * Reads a condition on the spans of a trace; null for anything else, and for one that the service does not take.
 * `NOT` of at least one span is read as no span.
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
  // The service takes this for no span, although one is the least number by default.
  if (most === 0 && least === undefined) return { name, least: 0, most, where };
  const bounds = { least: least ?? 1, most: most ?? null };
  return bounds.most !== null && bounds.most < bounds.least ? null : { name, ...bounds, where };
}

/** Reads a condition that there is a span on an axis, or that there is none; null for anything else. */
export function readAxis(expression: Expression): AxisNode | null {
  const outer = readNode(expression);
  const negated = outer.kind === 'negation';
  const read = readMembers(negated ? outer.child : expression, ['as', 'where', ...OPTIONS]);
  const axis = AXES.find((each) => each === read?.op);
  if (read === null || axis === undefined) return null;
  const options = readOptions(axis, read.members);
  return options === null ? null : { name: read.name, axis, negated, where: read.where, options };
}

/** Returns the conditions of which all must be true of a span. */
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
