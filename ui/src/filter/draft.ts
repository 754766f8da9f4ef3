/** A condition while it is edited. Its values are texts, as in input fields. */
import type { FilterField } from '../api/traces';
import { attributeField, looksLike, problemOf, scopeOf, typeOf, type AttributeType } from './attributes/attribute';
import type { Condition, Expression, Value } from './expression';
import { readNode } from './tree';
import { ignoresCase, operatorsOf, takesCase } from './words';

export interface Draft {
  key: string;
  /** The operator, such as `CONTAINS` or `NOT CONTAINS`. */
  operator: string;
  values: string[];
  ignoreCase: boolean;
  /** The value type of an attribute; absent for a field, which has its own type. */
  type?: AttributeType;
}

/** The condition of a draft, or why the draft is incomplete. */
export type Read = { expression: Expression } | { problem: string };

/** Returns the field of a draft, or its attribute as a field; undefined for an unknown field. */
export function fieldOf({ key, type }: Draft, fields: readonly FilterField[]): FilterField | undefined {
  return type === undefined ? fields.find((field) => field.key === key) : attributeField(key, type);
}

/** Returns the draft of a new condition on a field, or on an attribute, whose key may be incomplete; else null. */
export function newDraft(key: string, fields: readonly FilterField[]): Draft | null {
  if (scopeOf(key) !== null) return { ...emptyDraft(attributeField(key, 'string')), type: 'string' };
  const field = fields.find((each) => each.key === key);
  return field === undefined ? null : emptyDraft(field);
}

/** Returns the draft of a new condition on a field, with the first operator of the field. */
export function emptyDraft(field: FilterField): Draft {
  const operators = operatorsOf(field).map((choice) => choice.id);
  const usual = field.type === 'number' || field.type === 'datetime' ? 'GTE' : 'EQ';
  const operator = operators.includes(usual) ? usual : (operators[0] ?? 'EQ');
  const [value = ''] = choicesOf(field);
  return { key: field.key, operator, values: [value], ignoreCase: ignoresCase(operator) };
}

/** Returns the allowed values of a field; empty if any value is allowed. */
export function choicesOf({ type, values }: FilterField): readonly string[] {
  if (type === 'boolean') return ['true', 'false'];
  return type === 'enum' ? (values ?? []) : [];
}

/** Returns the draft of a condition, negated or not; null for any other expression. */
export function draftOf(expression: Expression): Draft | null {
  const outer = readNode(expression);
  const negated = outer.kind === 'negation';
  const node = negated ? readNode(outer.child) : outer;
  if (node.kind !== 'condition') return null;
  const { op, key, ignore_case: ignored } = node.condition;
  const operator = !negated ? op : op === 'EQ' ? 'NEQ' : op === 'NEQ' ? 'EQ' : `NOT ${op}`;
  const draft = { key, operator, values: node.values.map(String), ignoreCase: ignored ?? ignoresCase(op) };
  return scopeOf(key) === null ? draft : { ...draft, type: typeOf(node.values) };
}

/**
 * Returns the draft of a condition that a form can show completely. Returns null for an unknown field, an operator that
 * is not offered, a value that the field rejects, or values of several types.
 */
export function editableDraft(expression: Expression, fields: readonly FilterField[]): Draft | null {
  const draft = draftOf(expression);
  const field = draft === null ? undefined : fieldOf(draft, fields);
  if (draft === null || field === undefined) return null;
  if (!operatorsOf(field).some((operator) => operator.id === draft.operator)) return null;
  const read = readDraft(draft, field);
  if ('problem' in read) return null;
  const [given, shown] = [valuesOf(expression), valuesOf(read.expression)];
  return given.every((value, index) => value === shown[index]) ? draft : null;
}

function valuesOf(expression: Expression): Value[] {
  const node = readNode(expression);
  if (node.kind === 'negation') return valuesOf(node.child);
  return node.kind === 'condition' ? node.values : [];
}

/** Returns a draft with another operator. Values that the operator does not accept are removed. */
export function withOperator(draft: Draft, operator: string): Draft {
  const [first] = draft.values;
  const op = operator.replace('NOT ', '');
  const values = op === 'EXISTS' ? [] : op === 'IN' ? draft.values.filter(Boolean) : [first ?? ''];
  const changed = { ...draft, operator, values, ignoreCase: ignoresCase(op) };
  // Presence has no type.
  return op === 'EXISTS' && draft.type !== undefined ? { ...changed, type: 'string' } : changed;
}

/** Returns a draft with another attribute type. Values of other types are removed. */
export function withType(draft: Draft, type: AttributeType): Draft {
  const field = attributeField(draft.key, type);
  const valid = type === 'string' ? draft.values : draft.values.filter((text) => looksLike(text) === type);
  const values = valid.length > 0 ? valid : choicesOf(field).slice(0, 1);
  const isOffered = operatorsOf(field).some((operator) => operator.id === draft.operator);
  return withOperator({ ...draft, values, type }, isOffered ? draft.operator : 'EQ');
}

/** Returns the condition of a draft, or why the draft is incomplete. */
export function readDraft(draft: Draft, field: FilterField): Read {
  const keyProblem = problemOf(draft.key);
  if (keyProblem !== null) return { problem: keyProblem };
  const negated = draft.operator.startsWith('NOT ');
  const op = draft.operator.replace('NOT ', '');
  const condition: Condition = { op, key: draft.key };
  if (op !== 'EXISTS') {
    const values = draft.values.map((text) => readValue(text, field));
    const [first] = values;
    if (values.includes(undefined) || (op !== 'IN' && first === undefined)) return { problem: PROBLEMS[field.type] };
    if (op === 'IN') condition.values = values as Value[];
    else condition.value = first as Value;
  }
  if (takesCase(op, field.type) && draft.ignoreCase !== ignoresCase(op)) condition.ignore_case = draft.ignoreCase;
  return { expression: negated ? { op: 'NOT', condition } : condition };
}

const PROBLEMS = {
  number: 'Enter a number.',
  datetime: 'Enter a day and a time.',
  enum: 'Choose a value.',
  string: 'Enter a text.',
  text: 'Enter a text with a letter or a digit.',
  boolean: 'Choose a value.',
} as const;

function readValue(text: string, field: FilterField): Value | undefined {
  if (field.type === 'text') return /[\p{L}\p{N}_-]|[^\p{ASCII}]/u.test(text) ? text : undefined;
  if (field.type !== 'string' && text.trim() === '') return undefined;
  if (field.type === 'number') return Number.isFinite(Number(text)) ? Number(text) : undefined;
  if (field.type === 'datetime') return Number.isNaN(Date.parse(text)) ? undefined : text;
  const choices = choicesOf(field);
  if (choices.length > 0 && !choices.includes(text)) return undefined;
  return field.type === 'boolean' ? text === 'true' : text;
}
