/** A condition on the spans of a trace while it is edited: the part of `SPAN` that a form shows. */
import type { FilterField } from '../../api/traces';
import { problemOf } from '../attributes/attribute';
import { editableDraft, emptyDraft, fieldOf, readDraft, type Draft, type Read } from '../draft';
import type { Expression } from '../expression';
import { partsOf, readAxis, readSpan, type AxisNode, type SpanNode } from './node';
import { AXES, type Axis } from './options';
import { takesOrder, takesSame, writeOptions } from './options';

/** The required number of spans. */
export type Count = 'AT_LEAST' | 'AT_MOST' | 'BETWEEN' | 'NONE';

export interface SpanDraft {
  count: Count;
  /** Numbers as texts of input fields; empty if the count does not use them. */
  least: string;
  most: string;
  conditions: Draft[];
  /** The required or forbidden related span; null for none. */
  relation: Relation | null;
  /** The name of the spans in the matches of a search, or null. The form preserves it. */
  name: string | null;
}

export interface Relation {
  /** The axis, such as `CHILD` or `NOT CHILD`. */
  id: string;
  /** The conditions on the related span; never empty. */
  conditions: Draft[];
  name: string | null;
  /** True if the two spans are compared by their start times. */
  fromStart: boolean;
  /** True if only siblings count. */
  siblingsOnly: boolean;
  /** The fields that must be equal. */
  same: string[];
  /** The conditions that no span between the two may meet; null for none. */
  without: Draft[] | null;
}

/** Returns the draft of a new condition: at least one span, whose type the user selects. */
export function emptySpanDraft(fields: readonly FilterField[]): SpanDraft {
  return { count: 'AT_LEAST', least: '1', most: '', conditions: emptyConditions(fields), relation: null, name: null };
}

/** Returns the initial conditions on a related span. */
export function emptyConditions(fields: readonly FilterField[]): Draft[] {
  const field = fields.find((each) => each.key === 'type') ?? fields[0];
  return field === undefined ? [] : [emptyDraft(field)];
}

/** Returns a draft with another count and the numbers that this count uses. */
export function withCount(draft: SpanDraft, count: Count): SpanDraft {
  const least = draft.least || '1';
  const most = draft.most || least;
  return { ...draft, count, least: hasLeast(count) ? least : '', most: hasMost(count) ? most : '' };
}

export function hasLeast(count: Count): boolean {
  return count === 'AT_LEAST' || count === 'BETWEEN';
}

export function hasMost(count: Count): boolean {
  return count === 'AT_MOST' || count === 'BETWEEN';
}

/** Returns a draft with another relation, by its id; null removes the relation. */
export function withRelation(draft: SpanDraft, id: string | null, fields: readonly FilterField[]): SpanDraft {
  if (id === null) return { ...draft, relation: null };
  const axis = axisOf(id);
  const options = draft.relation ?? { ...NO_OPTIONS, conditions: emptyConditions(fields), name: null };
  const ordered = axis !== undefined && takesOrder(axis) ? options : { ...options, ...NO_OPTIONS, same: options.same };
  const same = axis !== undefined && takesSame(axis) ? options.same : [];
  return { ...draft, relation: { ...ordered, id, same } };
}

const NO_OPTIONS = { fromStart: false, siblingsOnly: false, same: [], without: null };

/** Returns the axis of a relation. */
export function axisOf(id: string): Axis | undefined {
  return AXES.find((axis) => id.endsWith(axis));
}

/**
 * Returns the draft of a condition on spans. Returns null if a form cannot show it completely: `OR`, negated groups,
 * several axes, axes of the related span, and fields or operators that are not offered.
 */
export function spanDraftOf(expression: Expression, fields: readonly FilterField[]): SpanDraft | null {
  const span = readSpan(expression);
  if (span === null) return null;
  const parts = partsOf(span.where);
  const axes = parts.flatMap((part) => readAxis(part) ?? []);
  const conditions = draftsOf(
    parts.filter((part) => readAxis(part) === null),
    fields,
  );
  const [axis] = axes;
  if (conditions === null || axes.length > 1) return null;
  const draft = { ...countOf(span), conditions, name: span.name };
  if (axis === undefined) return { ...draft, relation: null };
  const relation = relationOf(axis, fields);
  return relation === null ? null : { ...draft, relation };
}

function relationOf(
  { axis, negated, name, where, options }: AxisNode,
  fields: readonly FilterField[],
): Relation | null {
  const conditions = draftsOf(partsOf(where), fields);
  const without = options.without === null ? [] : draftsOf(partsOf(options.without), fields);
  const isKnown = options.same.every((key) => fields.some((field) => field.key === key));
  if (conditions === null || without === null || !isKnown) return null;
  const id = negated ? `NOT ${axis}` : axis;
  return { ...options, id, conditions, name, without: options.without === null ? null : without };
}

/** Returns the drafts of conditions; null if a condition has no draft. */
function draftsOf(parts: Expression[], fields: readonly FilterField[]): Draft[] | null {
  const drafts = parts.map((part) => editableDraft(part, fields));
  return drafts.every((draft) => draft !== null) ? drafts : null;
}

function countOf({ least, most }: SpanNode): Pick<SpanDraft, 'count' | 'least' | 'most'> {
  if (most === null) return { count: 'AT_LEAST', least: String(least), most: '' };
  if (most === 0) return { count: 'NONE', least: '', most: '' };
  if (least === 0) return { count: 'AT_MOST', least: '', most: String(most) };
  return { count: 'BETWEEN', least: String(least), most: String(most) };
}

/** Returns the condition of a draft, or why the draft is incomplete. */
export function readSpanDraft(draft: SpanDraft, fields: readonly FilterField[]): Read {
  const bounds = readBounds(draft);
  if ('problem' in bounds) return bounds;
  const parts = readDrafts(draft.conditions, fields);
  if ('problem' in parts) return parts;
  const related = draft.relation === null ? [] : readRelation(draft.relation, fields);
  if ('problem' in related) return related;
  const conditions = [...parts, ...related];
  if (conditions.length === 0) return { problem: 'Add a condition on the span.' };
  const span: Expression = { op: 'SPAN', ...named(draft.name), ...bounds, where: both(conditions) };
  return { expression: draft.count === 'NONE' ? { op: 'NOT', condition: span } : span };
}

function readRelation(relation: Relation, fields: readonly FilterField[]) {
  const { id, conditions, name } = relation;
  const parts = readDrafts(conditions, fields);
  if ('problem' in parts) return parts;
  if (parts.length === 0) return { problem: 'Add a condition on the other span.' };
  const between = relation.without === null ? null : readDrafts(relation.without, fields);
  if (between !== null && 'problem' in between) return between;
  if (between?.length === 0) return { problem: 'Add a condition on the spans between.' };
  const op = axisOf(id);
  if (op === undefined) return { problem: `There is no relation ${id}.` };
  const options = writeOptions({ ...relation, without: between === null ? null : both(between) });
  const axis: Expression = { op, ...named(name), ...options, where: both(parts) };
  return [id.startsWith('NOT ') ? ({ op: 'NOT', condition: axis } as const) : axis];
}

function readDrafts(drafts: Draft[], fields: readonly FilterField[]): Expression[] | { problem: string } {
  const expressions: Expression[] = [];
  for (const draft of drafts) {
    const field = fieldOf(draft, fields);
    if (field === undefined) return { problem: `Spans have no field ${draft.key}.` };
    const problem = problemOf(draft.key);
    if (problem !== null) return { problem };
    const read = readDraft(draft, field);
    if ('problem' in read) return { problem: `${field.label}: ${read.problem}` };
    expressions.push(read.expression);
  }
  return expressions;
}

/** Returns the members for the number of spans. The default minimum is one. */
function readBounds({ count, ...texts }: SpanDraft): { at_least?: number; at_most?: number } | { problem: string } {
  const [least, most] = [readNumber(texts.least), readNumber(texts.most)];
  if ((hasLeast(count) && least === null) || (hasMost(count) && most === null)) {
    return { problem: 'Enter how often: a whole number.' };
  }
  if (count === 'BETWEEN' && (least as number) > (most as number)) {
    return { problem: 'The most must not be less than the least.' };
  }
  const atLeast = count === 'AT_MOST' ? 0 : hasLeast(count) ? least : 1;
  return {
    ...(atLeast === 1 || atLeast === null ? {} : { at_least: atLeast }),
    ...(hasMost(count) && most !== null ? { at_most: most } : {}),
  };
}

function readNumber(text: string): number | null {
  const number = Number(text);
  return text.trim() !== '' && Number.isSafeInteger(number) && number >= 0 ? number : null;
}

function both(conditions: Expression[]): Expression {
  const [first] = conditions;
  return conditions.length === 1 && first !== undefined ? first : { op: 'AND', conditions };
}

function named(name: string | null): { as?: string } {
  return name === null ? {} : { as: name };
}
