/** A condition while it is edited: its values are texts, as fields hold them. */
import type { FilterField } from '../api/traces';
import type { Condition, Expression, Value } from './expression';
import { readNode } from './tree';
import { ignoresCase, operatorsOf, takesCase } from './words';

export interface Draft {
  key: string;
  /** The operator, as `CONTAINS` or `NOT CONTAINS`. */
  operator: string;
  values: string[];
  ignoreCase: boolean;
}

/** The condition of a draft, or why it is none yet. */
export type Read = { expression: Expression } | { problem: string };

/** Returns the draft of a new condition on a field: with the first operator that it takes. */
export function emptyDraft(field: FilterField): Draft {
  const operators = operatorsOf(field).map((choice) => choice.id);
  const usual = field.type === 'number' || field.type === 'datetime' ? 'GTE' : 'EQ';
  const operator = operators.includes(usual) ? usual : (operators[0] ?? 'EQ');
  const [value = ''] = choicesOf(field);
  return { key: field.key, operator, values: [value], ignoreCase: ignoresCase(operator) };
}

/** Returns the values of a field that has no others; none of one that takes any. */
export function choicesOf({ type, values }: FilterField): readonly string[] {
  if (type === 'boolean') return ['true', 'false'];
  return type === 'enum' ? (values ?? []) : [];
}

/** Returns the draft of a condition, negated or not; null for what is neither. */
export function draftOf(expression: Expression): Draft | null {
  const outer = readNode(expression);
  const negated = outer.kind === 'negation';
  const node = negated ? readNode(outer.child) : outer;
  if (node.kind !== 'condition') return null;
  const { op, key, ignore_case: ignored } = node.condition;
  const operator = !negated ? op : op === 'EQ' ? 'NEQ' : op === 'NEQ' ? 'EQ' : `NOT ${op}`;
  return { key, operator, values: node.values.map(String), ignoreCase: ignored ?? ignoresCase(op) };
}

/**
 * Returns the draft of a condition that a form shows whole; null for any other: of a field that is not known, as an
 * attribute, with an operator that is not offered, or with a value that the field does not take.
 */
export function editableDraft(expression: Expression, fields: readonly FilterField[]): Draft | null {
  const draft = draftOf(expression);
  const field = fields.find((each) => each.key === draft?.key);
  if (draft === null || field === undefined) return null;
  if (!operatorsOf(field).some((operator) => operator.id === draft.operator)) return null;
  const read = readDraft(draft, field);
  if ('problem' in read) return null;
  const [given, kept] = [valuesOf(expression), valuesOf(read.expression)];
  return given.every((value, index) => value === kept[index]) ? draft : null;
}

function valuesOf(expression: Expression): Value[] {
  const node = readNode(expression);
  if (node.kind === 'negation') return valuesOf(node.child);
  return node.kind === 'condition' ? node.values : [];
}

/** Returns a draft with another operator: values that it does not take are left out. */
export function withOperator(draft: Draft, operator: string): Draft {
  const [first] = draft.values;
  const op = operator.replace('NOT ', '');
  const values = op === 'EXISTS' ? [] : op === 'IN' ? draft.values.filter(Boolean) : [first ?? ''];
  return { ...draft, operator, values, ignoreCase: ignoresCase(op) };
}

/** Returns the condition of a draft, or why it is none yet. */
export function readDraft(draft: Draft, field: FilterField): Read {
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
