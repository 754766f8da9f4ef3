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

/** Returns the draft of a new condition on a field: with the first operator that it takes. */
export function emptyDraft(field: FilterField): Draft {
  const operators = operatorsOf(field).map((choice) => choice.id);
  const usual = field.type === 'number' || field.type === 'datetime' ? 'GTE' : 'EQ';
  const operator = operators.includes(usual) ? usual : (operators[0] ?? 'EQ');
  return { key: field.key, operator, values: [field.values?.[0] ?? ''], ignoreCase: ignoresCase(operator) };
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

/** Returns a draft with another operator: values that it does not take are left out. */
export function withOperator(draft: Draft, operator: string): Draft {
  const [first] = draft.values;
  const op = operator.replace('NOT ', '');
  const values = op === 'EXISTS' ? [] : op === 'IN' ? draft.values.filter(Boolean) : [first ?? ''];
  return { ...draft, operator, values, ignoreCase: ignoresCase(op) };
}

/** Returns the condition of a draft, or why it is none yet. */
export function readDraft(draft: Draft, field: FilterField): { expression: Expression } | { problem: string } {
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
  return text;
}
