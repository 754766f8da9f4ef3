import { expect, test } from 'vitest';

import type { FilterField } from '../api/traces';
import { draftOf, editableDraft, emptyDraft, readDraft, withOperator } from './draft';
import type { Expression } from './expression';
import { inWords, operatorsOf } from './words';

const text = ['EQ', 'NEQ', 'GT', 'GTE', 'LT', 'LTE', 'IN', 'CONTAINS', 'STARTSWITH', 'EXISTS'];
const ordered = ['EQ', 'NEQ', 'GT', 'GTE', 'LT', 'LTE', 'IN', 'EXISTS'];
const FIELDS: FilterField[] = [
  { key: 'status', label: 'Status', type: 'enum', operators: ['EQ', 'NEQ', 'IN', 'EXISTS'], values: ['OK', 'ERROR'] },
  { key: 'name', label: 'Trace Name', type: 'string', operators: text, values: null },
  { key: 'duration_ms', label: 'Duration (ms)', type: 'number', operators: ordered, values: null },
  { key: 'start_time', label: 'Start Time', type: 'datetime', operators: ordered, values: null },
  { key: 'is_root', label: 'Is a Root', type: 'boolean', operators: ['EQ', 'NEQ', 'EXISTS'], values: null },
  { key: 'text', label: 'Any Text', type: 'text', operators: ['CONTAINS', 'EXISTS'], values: null },
];
const TABLES = { all: FIELDS, spans: [] };
const GIVEN: Record<FilterField['type'], string> = {
  enum: 'ERROR',
  string: ' a "b" ',
  number: '1500.5',
  datetime: '2026-11-22T16:27:14.475779Z',
  boolean: 'true',
  text: 'refund me twice',
};

test.each(FIELDS)('every operator of $key makes a condition whose draft it is', (field) => {
  for (const { id } of operatorsOf(field)) {
    const draft = withOperator({ ...emptyDraft(field), values: [GIVEN[field.type]] }, id);
    const read = readDraft(draft, field);
    expect(read, id).toHaveProperty('expression');
    const { expression } = read as { expression: Expression };
    expect(draftOf(expression), id).toEqual(draft);
    expect(inWords(expression, TABLES), id).toContain(field.label);
  }
});

test.each(FIELDS.filter((field) => field.type !== 'string'))('$key without a value is no condition', (field) => {
  expect(readDraft({ key: field.key, operator: 'EQ', values: [''], ignoreCase: false }, field)).toHaveProperty(
    'problem',
  );
});

test('a number is a number, and a text is taken as it is', () => {
  const [, name, duration] = FIELDS as [FilterField, FilterField, FilterField];
  const draft = { operator: 'EQ', values: ['007'], ignoreCase: false };
  expect(readDraft({ ...draft, key: 'duration_ms' }, duration)).toMatchObject({ expression: { value: 7 } });
  expect(readDraft({ ...draft, key: 'name' }, name)).toMatchObject({ expression: { value: '007' } });
  expect(readDraft({ ...draft, key: 'duration_ms', values: ['soon'] }, duration)).toHaveProperty('problem');
});

test('a text to look for has a letter or a digit', () => {
  const field = FIELDS[5] as FilterField;
  const draft = { key: 'text', operator: 'CONTAINS', ignoreCase: true };
  expect(readDraft({ ...draft, values: ['"..."'] }, field)).toHaveProperty('problem');
  expect(readDraft({ ...draft, values: ['の'] }, field)).toEqual({
    expression: { op: 'CONTAINS', key: 'text', value: 'の' },
  });
});

test('`ignore_case` is written only if it differs from the default of the operator', () => {
  const name = FIELDS[1] as FilterField;
  const draft = { key: 'name', operator: 'CONTAINS', values: ['a'], ignoreCase: true };
  expect(readDraft(draft, name)).toEqual({ expression: { op: 'CONTAINS', key: 'name', value: 'a' } });
  expect(readDraft({ ...draft, ignoreCase: false }, name)).toMatchObject({ expression: { ignore_case: false } });
});

test.each([
  { op: 'EQ', key: 'attributes.', value: 'gold' },
  { op: 'EQ', key: `attributes.${'é'.repeat(513)}`, value: 'gold' },
  { op: 'EQ', key: 'attributes.tier', value: null },
  { op: 'IN', key: 'attributes.tier', values: ['gold', 7] },
  { op: 'IN', key: 'attributes.tier', values: [true] },
  { op: 'CONTAINS', key: 'attributes.tier', value: 7 },
  { op: 'GT', key: 'attributes.tier', value: true },
  { op: 'EQ', key: 'name', value: 7 },
  { op: 'EQ', key: 'duration_ms', value: '7' },
  { op: 'EQ', key: 'status', value: 'lost' },
  { op: 'IN', key: 'name', values: ['a', null] },
  { op: 'CONTAINS', key: 'duration_ms', value: 7 },
  { op: 'NOT', condition: { op: 'GT', key: 'duration_ms', value: 7 } },
  { op: 'OR', conditions: [{ op: 'EXISTS', key: 'name' }] },
])('no form shows %j', (expression) => {
  expect(editableDraft(expression as Expression, FIELDS)).toBeNull();
});

test('what a form shows of a condition is all of it', () => {
  const condition: Expression = { op: 'IN', key: 'name', value: ['a', 'b'], ignore_case: true };
  expect(editableDraft(condition, FIELDS)).toMatchObject({ operator: 'IN', values: ['a', 'b'], ignoreCase: true });
});

test.each([
  [{ op: 'EQ', key: 'name', value: 'a' }, 'Trace Name is a'],
  [{ op: 'NOT', condition: { op: 'CONTAINS', key: 'name', value: 'a' } }, 'Trace Name does not contain a'],
  [{ op: 'NOT', condition: { op: 'EXISTS', key: 'team_id' } }, 'team_id is missing'],
  [{ op: 'IN', key: 'duration_ms', values: [1, 2, 3, 4000, 5] }, 'Duration (ms) is one of 1, 2, 3, 2 more'],
  [
    {
      op: 'OR',
      conditions: [
        { op: 'EQ', key: 'name', value: 'a' },
        { op: 'AND', conditions: [{ op: 'SPAN' }, { op: 'X' }] },
      ],
    },
    'Trace Name is a or ({"op":"SPAN"} and {"op":"X"})',
  ],
])('%j in words', (expression, words) => {
  expect(inWords(expression as Expression, TABLES)).toBe(words);
});
