import { describe, expect, test } from 'vitest';

import { drawing } from '../../testing/drawing';
import { editableDraft, fieldOf, newDraft, readDraft, withOperator, withType, type Draft } from '../draft';
import type { Expression } from '../expression';
import { randomDraft, SPAN_FIELDS } from '../spans/testing/random-spans';
import { inWords, operatorsOf } from '../words';
import { looksLike, problemOf, scopeOf, TYPES, typeOf, type AttributeType } from './attribute';

const TABLES = { all: SPAN_FIELDS, spans: SPAN_FIELDS };

function written(draft: Draft): Expression {
  const field = fieldOf(draft, SPAN_FIELDS);
  if (field === undefined) throw new Error(`no field ${draft.key}`);
  const read = readDraft(draft, field);
  if ('problem' in read) throw new Error(`${read.problem} ${JSON.stringify(draft)}`);
  return read.expression;
}

describe.each(Array.from({ length: 300 }, (_, seed) => seed))('laws of drafts, seed %d', (seed) => {
  test('what is made from a draft is shown as that draft, in its type', () => {
    const draft = randomDraft(drawing(seed));
    const expression = written(draft);
    // A link carries JSON.
    const kept = JSON.parse(JSON.stringify(expression)) as Expression;
    // Without a value there is no type.
    const isTyped = draft.type !== undefined && draft.values.length > 0;
    expect(editableDraft(kept, SPAN_FIELDS)).toEqual(
      isTyped || draft.type === undefined ? draft : { ...draft, type: 'string' },
    );
    expect(written(editableDraft(kept, SPAN_FIELDS) as Draft)).toEqual(expression);
  });

  test('every type and operator that is chosen leaves a draft whose field takes it', () => {
    const draw = drawing(seed + 1_000);
    let draft = newDraft('attributes.tier', SPAN_FIELDS) as Draft;
    for (let round = 0; round < 20; round += 1) {
      const type = Object.keys(TYPES)[draw(3)] as AttributeType;
      const choices = operatorsOf(fieldOf(draft, SPAN_FIELDS) ?? (SPAN_FIELDS[0] as (typeof SPAN_FIELDS)[0]));
      if (draw(2) === 0) draft = withType(draft, type);
      else draft = withOperator(draft, choices[draw(choices.length)]?.id ?? '');
      const field = fieldOf(draft, SPAN_FIELDS);
      expect(field?.type).toBe(draft.type);
      expect(field === undefined ? [] : operatorsOf(field).map(({ id }) => id)).toContain(draft.operator);
      if (draft.type === 'boolean') expect(written(draft)).toMatchObject({ value: expect.any(Boolean) as boolean });
    }
  });
});

test('a value keeps its text when it becomes another type, if that has it', () => {
  const draft: Draft = { ...(newDraft('attributes.n', []) as Draft), values: ['0.70'] };
  expect(written({ ...draft, operator: 'EQ' })).toEqual({ op: 'EQ', key: 'attributes.n', value: '0.70' });
  expect(written(withType(draft, 'number'))).toEqual({ op: 'EQ', key: 'attributes.n', value: 0.7 });
  expect(written(withType(withType(draft, 'number'), 'string'))).toMatchObject({ value: '0.70' });
  expect(withType({ ...draft, values: ['soon'] }, 'number').values).toEqual(['']);
  expect(withType({ ...draft, operator: 'IN', values: ['7', 'soon', '8'] }, 'number').values).toEqual(['7', '8']);
  expect(withType({ ...draft, operator: 'CONTAINS' }, 'number').operator).toBe('EQ');
});

test.each([
  ['7', 'number'],
  ['-0.5e3', 'number'],
  ['true', 'boolean'],
  ['True', 'string'],
  ['', 'string'],
  [' 7', 'string'],
  ['0x10', 'string'],
  ['Infinity', 'string'],
  ['7 days', 'string'],
])('%j looks like a %s', (text, type) => {
  expect(looksLike(text)).toBe(type);
});

test('a key has a scope, and is neither empty nor longer than the service takes', () => {
  expect(['attributes.a', 'resource.', 'attributes', 'name', 'Resource.a'].map(scopeOf)).toEqual([
    'attributes.',
    'resource.',
    null,
    null,
    null,
  ]);
  expect(problemOf('name')).toBeNull();
  expect(problemOf('attributes.')).toBe('Enter the key of an attribute.');
  expect(problemOf(`resource.${'é'.repeat(512)}`)).toBeNull();
  expect(problemOf(`resource.${'é'.repeat(512)}x`)).toBe('Enter a shorter key of an attribute.');
});

test.each([
  [[], 'string'],
  [['7'], 'string'],
  [[7, 8], 'number'],
  [[false], 'boolean'],
  [[null], 'string'],
] as const)('values %j are of type %s', (values, type) => {
  expect(typeOf(values)).toBe(type);
});

test.each([
  [{ op: 'EQ', key: 'attributes.tier', value: 'gold' }, 'attributes.tier is gold'],
  [{ op: 'EQ', key: 'attributes.tier', value: '7' }, 'attributes.tier is “7”'],
  [{ op: 'EQ', key: 'attributes.tier', value: 7000 }, 'attributes.tier is 7,000'],
  [{ op: 'NEQ', key: 'resource.canary', value: true }, 'resource.canary is not true'],
  [{ op: 'IN', key: 'resource.canary', values: ['true', 'b', 7] }, 'resource.canary is one of “true”, b, 7'],
  [{ op: 'GT', key: 'attributes.tier', value: 'gold' }, 'attributes.tier sorts after gold'],
  [{ op: 'SPAN', where: { op: 'GT', key: 'attributes.n', value: 7 } }, 'a span where attributes.n is more than 7'],
])('%j in words', (expression, words) => {
  expect(inWords(expression as Expression, TABLES)).toBe(words);
});
