/** Made-up conditions on spans for tests. */
import type { FilterField } from '../../../api/traces';
import { SCOPES, TYPES, type AttributeType } from '../../attributes/attribute';
import { choicesOf, emptyDraft, fieldOf, newDraft, withOperator, withType, type Draft } from '../../draft';
import type { Expression } from '../../expression';
import { operatorsOf, takesCase } from '../../words';
import { withCount, type Count, type Relation, type SpanDraft } from '../draft';
import { AXES } from '../options';
import { takesOrder, takesSame } from '../options';

type Draw = (below: number) => number;

const text = ['EQ', 'NEQ', 'GT', 'GTE', 'LT', 'LTE', 'IN', 'CONTAINS', 'STARTSWITH', 'EXISTS'];
const ordered = ['EQ', 'NEQ', 'GT', 'GTE', 'LT', 'LTE', 'IN', 'EXISTS'];

/** Fields of spans, one of each type and more of texts. */
export const SPAN_FIELDS: FilterField[] = [
  { key: 'name', label: 'Name', type: 'string', operators: text, values: null },
  { key: 'type', label: 'Type', type: 'string', operators: text, values: null },
  { key: 'status', label: 'Status', type: 'enum', operators: ['EQ', 'NEQ', 'IN', 'EXISTS'], values: ['OK', 'ERROR'] },
  { key: 'duration_ms', label: 'Duration (ms)', type: 'number', operators: ordered, values: null },
  { key: 'start_time', label: 'Start Time', type: 'datetime', operators: ordered, values: null },
  { key: 'is_root', label: 'Is a Root', type: 'boolean', operators: ['EQ', 'NEQ', 'EXISTS'], values: null },
  { key: 'model', label: 'Model', type: 'string', operators: text, values: null },
  { key: 'tool_name', label: 'Tool', type: 'string', operators: text, values: null },
  { key: 'error', label: 'Error', type: 'text', operators: ['CONTAINS', 'EXISTS'], values: null },
];

const VALUES: Record<FilterField['type'], string[]> = {
  string: ['TOOL', 'LLM', 'a "b"', '', 'refund', '7', 'true'],
  enum: [],
  boolean: [],
  number: ['0', '-1', '1500.5', '4000', '1e+21'],
  datetime: ['2026-11-22', '2026-11-22T16:27:14.475779Z'],
  text: ['timed out', 'の', 'x-1'],
};

function one<T>(draw: Draw, values: readonly T[]): T {
  return values[draw(values.length)] as T;
}

/** Keys of attributes: usual ones, and ones that could be taken for something else. */
const KEYS = ['tier', 'gen_ai.request.temperature', 'attributes.', 'name', ' ', 'の"', '__proto__', 'x'.repeat(1_024)];

/** Returns the draft of a condition that a form can make, on a field or on an attribute. */
export function randomDraft(draw: Draw): Draft {
  const isAttribute = draw(3) === 0;
  const begun = isAttribute ? randomAttribute(draw) : emptyDraft(one(draw, SPAN_FIELDS));
  const field = fieldOf(begun, SPAN_FIELDS) as FilterField;
  const operator = one(draw, operatorsOf(field)).id;
  const offered = choicesOf(field).length > 0 ? choicesOf(field) : VALUES[field.type];
  const values = offered.filter(() => draw(2) === 0);
  const draft = withOperator({ ...begun, values: values.length > 0 ? values : [one(draw, offered)] }, operator);
  const op = operator.replace('NOT ', '');
  return takesCase(op, field.type) && draw(3) === 0 ? { ...draft, ignoreCase: !draft.ignoreCase } : draft;
}

function randomAttribute(draw: Draw): Draft {
  const begun = newDraft(one(draw, SCOPES) + one(draw, KEYS), SPAN_FIELDS) as Draft;
  return withType(begun, one(draw, Object.keys(TYPES) as AttributeType[]));
}

function randomDrafts(draw: Draw, least: number): Draft[] {
  return Array.from({ length: least + draw(3) }, () => randomDraft(draw));
}

/** Returns the draft of a condition on spans that a form can make. */
export function randomSpanDraft(draw: Draw): SpanDraft {
  const count = one<Count>(draw, ['AT_LEAST', 'AT_MOST', 'BETWEEN', 'NONE']);
  const least = draw(4);
  const isRelated = draw(2) === 0;
  const draft: SpanDraft = {
    count,
    least: String(least),
    most: String(least + draw(3)),
    conditions: randomDrafts(draw, isRelated ? 0 : 1),
    relation: isRelated ? randomRelation(draw) : null,
    name: draw(3) === 0 ? 'mine' : null,
  };
  return withCount(draft, count);
}

function randomRelation(draw: Draw): Relation {
  const axis = one(draw, AXES);
  const hasOrder = takesOrder(axis);
  return {
    id: `${draw(2) === 0 ? 'NOT ' : ''}${axis}`,
    conditions: randomDrafts(draw, 1),
    name: draw(2) === 0 ? 'other' : null,
    fromStart: hasOrder && draw(3) === 0,
    siblingsOnly: hasOrder && draw(3) === 0,
    same: takesSame(axis) ? SAME.filter(() => draw(4) === 0) : [],
    without: hasOrder && draw(3) === 0 ? randomDrafts(draw, 1) : null,
  };
}

/** Fields that may have to be the same. */
const SAME = ['tool_name', 'name', 'model'];

/** Returns any condition on a span, of those that a form shows and of others, in any of its spellings. */
export function randomWhere(draw: Draw, depth = 0): Expression {
  switch (draw(depth > 3 ? 3 : 8)) {
    case 0:
      return { op: 'EQ', key: 'type', value: one(draw, ['TOOL', 'tool', 'LLM']) };
    case 1:
      return { op: 'IN', key: one(draw, ['name', 'attributes.tier']), value: ['a', one(draw, ['b', 7])] };
    case 2:
      return { op: one(draw, ['CONTAINS', 'GT']), key: one(draw, ['error', 'name']), value: 'refund' };
    case 3:
      return { op: 'NOT', condition: randomWhere(draw, depth + 1) };
    case 4:
      return { op: 'NOT', conditions: [randomWhere(draw, depth + 1)] } as unknown as Expression;
    case 5:
      return randomAxis(draw, depth + 1);
    default:
      return {
        op: draw(4) === 0 ? 'OR' : 'AND',
        conditions: Array.from({ length: 1 + draw(3) }, () => randomWhere(draw, depth + 1)),
      };
  }
}

function randomAxis(draw: Draw, depth: number): Expression {
  const op = one(draw, AXES);
  const ordered = takesOrder(op);
  const axis = {
    op,
    where: randomWhere(draw, depth),
    ...(draw(2) === 0 ? { as: 'other' } : {}),
    ...(ordered && draw(4) === 0 ? { from: one(draw, ['end', 'start']) } : {}),
    ...(ordered && draw(4) === 0 ? { scope: one(draw, ['trace', 'siblings']) } : {}),
    ...(takesSame(op) && draw(4) === 0 ? { same: [one(draw, SAME)] } : {}),
    ...(ordered && draw(4) === 0 ? { without: randomWhere(draw, depth) } : {}),
  };
  return axis as unknown as Expression;
}
