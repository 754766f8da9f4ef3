/** Filters in words: the operators of a field, and a condition as a sentence. */
import type { FilterField } from '../api/traces';
import { formatCount } from '../format/number';
import { formatInstant } from '../format/time';
import { looksLike, scopeOf, typeOf } from './attributes/attribute';
import type { Expression, Value } from './expression';
import { spanWords } from './spans/words';
import { readNode } from './tree';

/** An operator in the menu: an operator of the service or its negation. */
export interface OperatorChoice {
  /** The operator, such as `CONTAINS` or `NOT CONTAINS`. */
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

/** The order of operators in the menu. */
const ORDER = Object.keys(WORDS);

/** Returns the words of an operator: `contains`, `is before`. */
export function operatorWords(op: string, negated: boolean, type?: FieldType): string {
  if (negated && op === 'NEQ') return 'is';
  if (negated && op === 'EQ') return 'is not';
  const words = (type === 'datetime' ? OF_TIME[op] : type === 'string' ? OF_TEXT[op] : undefined) ?? WORDS[op] ?? op;
  return negated ? (WORDS[`NOT ${op}`] ?? `not: ${words}`) : words;
}

/** Returns the operators of a field, and the negations that have their own words. */
export function operatorsOf(field: FilterField): OperatorChoice[] {
  return ORDER.flatMap((id) => {
    const negated = id.startsWith('NOT ');
    const op = negated ? id.slice(4) : id;
    if (!field.operators.includes(op)) return [];
    return [{ id, op, negated, label: operatorWords(op, negated, field.type) }];
  });
}

/** Returns true if an operator ignores case by default. */
export function ignoresCase(op: string): boolean {
  return op === 'CONTAINS';
}

/** Returns true if a condition with this operator accepts `ignore_case`. */
export function takesCase(op: string, type: FieldType): boolean {
  return (type === 'string' || type === 'text') && ['EQ', 'NEQ', 'IN', 'CONTAINS', 'STARTSWITH'].includes(op);
}

/** Returns a readable value; times are in the time zone of the page. */
export function valueWords(value: Value, type?: FieldType): string {
  if (type === 'datetime' && typeof value === 'string' && !Number.isNaN(Date.parse(value))) return formatInstant(value);
  if (typeof value === 'number') return Number.isInteger(value) ? formatCount(value) : String(value);
  return String(value);
}

/** The fields of filters. */
export interface FieldTables {
  /** The fields of traces. */
  readonly all: readonly FilterField[];
  /** The fields of spans, inside `SPAN`. */
  readonly spans: readonly FilterField[];
}

export interface Sentence {
  subject: string;
  verb: string;
  object: string;
}

/** Returns the label of a field, without the unit in its heading. */
export function labelOf(fields: readonly FilterField[], key: string): string {
  return fields.find((field) => field.key === key)?.label ?? key;
}

/** Returns a condition, negated or not, as a sentence; null for other expressions. */
export function sentenceOf(expression: Expression, fields: readonly FilterField[]): Sentence | null {
  const outer = readNode(expression);
  const negated = outer.kind === 'negation';
  const node = negated ? readNode(outer.child) : outer;
  if (node.kind !== 'condition') return null;
  const { op, key, ignore_case: ignored } = node.condition;
  const isAttribute = scopeOf(key) !== null;
  const type = isAttribute ? typeOf(node.values) : fields.find((field) => field.key === key)?.type;
  const shown = node.values
    .slice(0, MAX_VALUES)
    .map((value) => (isAttribute && isMistakable(value) ? `“${value}”` : valueWords(value, type)));
  if (node.values.length > MAX_VALUES) shown.push(`${String(node.values.length - MAX_VALUES)} more`);
  if (op === 'IN' && shown.length === 0) shown.push('nothing');
  const special = ignored !== undefined && ignored !== ignoresCase(op);
  const suffix = special ? (ignored ? ' (in any case)' : ' (in this case)') : '';
  return { subject: labelOf(fields, key), verb: operatorWords(op, negated, type), object: shown.join(', ') + suffix };
}

/** Returns true if a value is a text that looks like a value of another type. */
function isMistakable(value: Value): value is string {
  return typeof value === 'string' && looksLike(value) !== 'string';
}

/** The number of values of an `IN` that are listed. */
const MAX_VALUES = 3;

/** Returns any filter in one line. Expressions without words are shown as JSON. */
export function inWords(expression: Expression, tables: FieldTables): string {
  return say(expression, tables.all, tables.spans, false);
}

function say(
  expression: Expression,
  fields: readonly FilterField[],
  ofSpans: readonly FilterField[],
  isInner: boolean,
): string {
  const sentence = sentenceOf(expression, fields);
  if (sentence !== null) return `${sentence.subject} ${sentence.verb} ${sentence.object}`.trimEnd();
  const spans = spanWords(expression, {
    condition: (condition, isBeside) => say(condition, ofSpans, ofSpans, isBeside),
    label: (key) => labelOf(ofSpans, key),
  });
  if (spans !== null) return spans;
  const node = readNode(expression);
  switch (node.kind) {
    case 'group': {
      const words = node.children
        .map((child) => say(child, fields, ofSpans, true))
        .join(node.op === 'AND' ? ' and ' : ' or ');
      return isInner && node.children.length > 1 ? `(${words})` : words;
    }
    case 'negation':
      return `not ${say(node.child, fields, ofSpans, true)}`;
    default:
      return JSON.stringify(expression);
  }
}
