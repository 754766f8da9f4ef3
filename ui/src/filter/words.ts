/** Filters in words: the operators of a field, and a condition as a sentence. */
import type { FilterField } from '../api/traces';
import { formatCount } from '../format/number';
import { formatInstant } from '../format/time';
import type { Expression, Value } from './expression';
import { readNode } from './tree';

/** An operator as a user chooses it: of the service, or the negation of one. */
export interface OperatorChoice {
  /** The operator, as `CONTAINS` or `NOT CONTAINS`. */
  id: string;
  op: string;
  negated: boolean;
  label: string;
}

type FieldType = FilterField['type'];

const WORDS: Record<string, string> = {
  EQ: 'is',
  NEQ: 'is not',
  IN: 'is one of',
  'NOT IN': 'is none of',
  CONTAINS: 'contains',
  'NOT CONTAINS': 'does not contain',
  STARTSWITH: 'starts with',
  'NOT STARTSWITH': 'does not start with',
  GT: 'is more than',
  GTE: 'is at least',
  LT: 'is less than',
  LTE: 'is at most',
  EXISTS: 'is present',
  'NOT EXISTS': 'is missing',
};

const OF_TIME: Record<string, string> = { GT: 'is after', GTE: 'is from', LT: 'is before', LTE: 'is until' };
const OF_TEXT: Record<string, string> = {
  GT: 'sorts after',
  GTE: 'sorts from',
  LT: 'sorts before',
  LTE: 'sorts until',
};

/** The order in which operators are offered. */
const ORDER = Object.keys(WORDS);

/** Returns the words of an operator: `contains`, `is before`. */
export function operatorWords(op: string, negated: boolean, type?: FieldType): string {
  if (negated && op === 'NEQ') return 'is';
  if (negated && op === 'EQ') return 'is not';
  const words = (type === 'datetime' ? OF_TIME[op] : type === 'string' ? OF_TEXT[op] : undefined) ?? WORDS[op] ?? op;
  return negated ? (WORDS[`NOT ${op}`] ?? `not: ${words}`) : words;
}

/** Returns the operators that a field takes, and the negations that have words of their own. */
export function operatorsOf(field: FilterField): OperatorChoice[] {
  return ORDER.flatMap((id) => {
    const negated = id.startsWith('NOT ');
    const op = negated ? id.slice(4) : id;
    if (!field.operators.includes(op)) return [];
    return [{ id, op, negated, label: operatorWords(op, negated, field.type) }];
  });
}

/** Whether an operator ignores case where a condition does not say. */
export function ignoresCase(op: string): boolean {
  return op === 'CONTAINS';
}

/** Whether a condition with this operator may say whether it ignores case. */
export function takesCase(op: string, type: FieldType): boolean {
  return (type === 'string' || type === 'text') && ['EQ', 'NEQ', 'IN', 'CONTAINS', 'STARTSWITH'].includes(op);
}

/** Returns a value for people; times in the time zone of the page. */
export function valueWords(value: Value, type?: FieldType): string {
  if (type === 'datetime' && typeof value === 'string' && !Number.isNaN(Date.parse(value))) return formatInstant(value);
  if (typeof value === 'number') return Number.isInteger(value) ? formatCount(value) : String(value);
  return String(value);
}

export interface Sentence {
  subject: string;
  verb: string;
  object: string;
}

/** Returns the label of a field, without what its heading says of the unit. */
export function labelOf(fields: readonly FilterField[], key: string): string {
  return fields.find((field) => field.key === key)?.label ?? key;
}

/** Returns a condition, negated or not, as a sentence; null for anything else. */
export function sentenceOf(expression: Expression, fields: readonly FilterField[]): Sentence | null {
  const outer = readNode(expression);
  const negated = outer.kind === 'negation';
  const node = negated ? readNode(outer.child) : outer;
  if (node.kind !== 'condition') return null;
  const { op, key, ignore_case: ignored } = node.condition;
  const type = fields.find((field) => field.key === key)?.type;
  const shown = node.values.slice(0, MAX_VALUES).map((value) => valueWords(value, type));
  if (node.values.length > MAX_VALUES) shown.push(`${String(node.values.length - MAX_VALUES)} more`);
  if (op === 'IN' && shown.length === 0) shown.push('nothing');
  const special = ignored !== undefined && ignored !== ignoresCase(op);
  const suffix = special ? (ignored ? ' (in any case)' : ' (in this case)') : '';
  return { subject: labelOf(fields, key), verb: operatorWords(op, negated, type), object: shown.join(', ') + suffix };
}

/** Values of an IN that are named. */
const MAX_VALUES = 3;

/** Returns any filter in one line. What has no words is JSON. */
export function inWords(expression: Expression, fields: readonly FilterField[], isInner = false): string {
  const sentence = sentenceOf(expression, fields);
  if (sentence !== null) return `${sentence.subject} ${sentence.verb} ${sentence.object}`.trimEnd();
  const node = readNode(expression);
  switch (node.kind) {
    case 'group': {
      const words = node.children
        .map((child) => inWords(child, fields, true))
        .join(node.op === 'AND' ? ' and ' : ' or ');
      return isInner && node.children.length > 1 ? `(${words})` : words;
    }
    case 'negation':
      return `not ${inWords(node.child, fields, true)}`;
    default:
      return spanWords(expression, fields) ?? JSON.stringify(expression);
  }
}

const AXES: Record<string, string> = {
  PARENT: 'whose parent has',
  CHILD: 'with a child that has',
  ANCESTOR: 'below a span that has',
  DESCENDANT: 'above a span that has',
  FOLLOWED_BY: 'followed by a span that has',
  PRECEDED_BY: 'preceded by a span that has',
};

/** Returns a condition on spans in words: `2 spans or more where Type is TOOL`; null for anything else. */
function spanWords(expression: Expression, fields: readonly FilterField[]): string | null {
  const { op, at_least: atLeast = 1, at_most: atMost, where } = expression as unknown as Record<string, unknown>;
  if (typeof op !== 'string' || typeof where !== 'object' || where === null) return null;
  const inner = inWords(where as Expression, fields, true);
  const axis = AXES[op];
  if (axis !== undefined) return `${axis} ${inner}`;
  if (op !== 'SPAN') return null;
  if (atMost === 0) return `no span where ${inner}`;
  const bounds = [
    atMost === undefined ? null : `at most ${String(atMost)}`,
    atLeast === 1 ? null : `at least ${String(atLeast)}`,
  ];
  const counted = bounds.filter((bound) => bound !== null).join(' and ');
  return `${counted === '' ? 'a span' : `${counted} spans`} where ${inner}`;
}
