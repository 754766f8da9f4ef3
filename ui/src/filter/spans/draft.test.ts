import { describe, expect, test } from 'vitest';

import type { Expression } from '../expression';
import { drawing } from '../../testing/drawing';
import {
  emptyConditions,
  emptySpanDraft,
  readSpanDraft,
  spanDraftOf,
  withCount,
  withRelation,
  type SpanDraft,
} from './draft';
import { holds, randomForest } from './testing/oracle';
import { randomSpanDraft, randomWhere, SPAN_FIELDS } from './testing/random-spans';

function written(draft: SpanDraft): Expression {
  const read = readSpanDraft(draft, SPAN_FIELDS);
  if ('problem' in read) throw new Error(`${read.problem} ${JSON.stringify(draft)}`);
  return read.expression;
}

describe.each(Array.from({ length: 200 }, (_, seed) => seed))('laws of drafts, seed %d', (seed) => {
  test('what is made from a draft is shown as that draft', () => {
    const draft = randomSpanDraft(drawing(seed));
    expect(spanDraftOf(written(draft), SPAN_FIELDS)).toEqual(simplified(draft));
  });

  test('what is shown of any condition is true of the same traces', () => {
    const draw = drawing(seed + 1_000);
    let shown = 0;
    for (let round = 0; round < 40; round += 1) {
      const span: Expression = { op: 'SPAN', ...bounds(draw), where: randomWhere(draw) };
      const expression: Expression = draw(4) === 0 ? { op: 'NOT', condition: span } : span;
      const draft = spanDraftOf(expression, SPAN_FIELDS);
      if (draft === null) continue;
      shown += 1;
      for (let tree = 0; tree < 5; tree += 1) {
        const forest = randomForest(draw);
        expect(holds(written(draft), forest), JSON.stringify(expression)).toBe(holds(expression, forest));
      }
    }
    expect(shown).toBeGreaterThan(0);
  });
});

/** Returns an equivalent draft with fewer numbers: a minimum of 0 becomes "at most", and at most 0 becomes "no span". */
function simplified(draft: SpanDraft): SpanDraft {
  const hasNoLeast = draft.count === 'AT_MOST' || (draft.count === 'BETWEEN' && draft.least === '0');
  if (!hasNoLeast) return draft;
  return withCount(draft, draft.most === '0' ? 'NONE' : 'AT_MOST');
}

function bounds(draw: (below: number) => number): { at_least?: number; at_most?: number } {
  const least = draw(3);
  return { ...(draw(2) === 0 ? { at_least: least } : {}), ...(draw(2) === 0 ? { at_most: least + draw(2) } : {}) };
}

const TOOL = { op: 'EQ', key: 'type', value: 'TOOL' };
const LLM = { op: 'EQ', key: 'type', value: 'LLM' };
const THEN = { op: 'FOLLOWED_BY', where: LLM };

test.each([
  ['or', { op: 'OR', conditions: [TOOL, LLM] }],
  ['a negated group', { op: 'NOT', condition: { op: 'AND', conditions: [TOOL, LLM] } }],
  ['two axes', { op: 'AND', conditions: [TOOL, THEN, { op: 'CHILD', where: LLM }] }],
  ['an axis of the other span', { op: 'FOLLOWED_BY', where: { op: 'CHILD', where: LLM } }],
  ['values of two types', { op: 'IN', key: 'attributes.tier', values: ['gold', 7] }],
  ['an attribute without a key', { op: 'EQ', key: 'resource.', value: 'gold' }],
  ['a field of traces', { op: 'EQ', key: 'agent_id', value: 'support' }],
  ['an option that the axis does not take', { op: 'SIBLING', from: 'start', where: LLM }],
  ['an option without a meaning', { op: 'FOLLOWED_BY', from: 'middle', where: LLM }],
  ['no field that is the same', { op: 'SIBLING', same: [], where: LLM }],
  ['a field that is the same twice', { op: 'SIBLING', same: ['name', 'name'], where: LLM }],
  ['an unknown field that is the same', { op: 'SIBLING', same: ['agent_id'], where: LLM }],
  ['a group between', { op: 'PRECEDED_BY', without: { op: 'OR', conditions: [TOOL, LLM] }, where: LLM }],
  ['an unknown member', { op: 'FOLLOWED_BY', until: 'start', where: LLM }],
  ['a span in a span', { op: 'SPAN', where: LLM }],
])('no form shows %s', (_, where) => {
  expect(spanDraftOf({ op: 'SPAN', where } as unknown as Expression, SPAN_FIELDS)).toBeNull();
});

test('another relation keeps the options that it takes', () => {
  const where = { op: 'AND', conditions: [TOOL, { ...THEN, from: 'start', same: ['name'], without: TOOL }] };
  const draft = spanDraftOf({ op: 'SPAN', where } as unknown as Expression, SPAN_FIELDS) as SpanDraft;
  const options = (id: string) => written(withRelation(draft, id, SPAN_FIELDS));
  expect(options('NOT PRECEDED_BY')).toMatchObject({
    where: { conditions: [TOOL, { op: 'NOT', condition: { from: 'start', same: ['name'], without: TOOL } }] },
  });
  expect(options('SIBLING')).toEqual({
    op: 'SPAN',
    where: { op: 'AND', conditions: [TOOL, { op: 'SIBLING', same: ['name'], where: LLM }] },
  });
  expect(options('CHILD')).toEqual({
    op: 'SPAN',
    where: { op: 'AND', conditions: [TOOL, { op: 'CHILD', where: LLM }] },
  });
});

test.each([
  { op: 'SPAN', where: TOOL, hint: 1 },
  { op: 'SPAN', where: [TOOL] },
  { op: 'SPAN', where: TOOL, at_least: 1.5 },
  { op: 'SPAN', where: TOOL, at_least: 3, at_most: 2 },
  { op: 'SPAN', where: TOOL, at_most: null },
  { op: 'SPAN', where: TOOL, as: 7 },
  { op: 'NOT', condition: { op: 'SPAN', where: TOOL, at_least: 2 } },
  { op: 'CHILD', where: TOOL },
  TOOL,
])('%j is no condition that the form of spans shows', (expression) => {
  expect(spanDraftOf(expression as unknown as Expression, SPAN_FIELDS)).toBeNull();
});

test('a new draft says at least one span, and needs a value where its field does', () => {
  const draft = emptySpanDraft(SPAN_FIELDS);
  expect(written(draft)).toEqual({ op: 'SPAN', where: { op: 'EQ', key: 'type', value: '' } });
  expect(written(withRelation(draft, 'NOT CHILD', SPAN_FIELDS))).toMatchObject({
    where: { op: 'AND', conditions: [{ key: 'type' }, { op: 'NOT', condition: { op: 'CHILD' } }] },
  });
});

const PLAIN = { conditions: [], name: null, fromStart: false, siblingsOnly: false, same: [], without: null };

test.each([
  [{ least: '' }, 'Enter how often: a whole number.'],
  [{ least: '1.5' }, 'Enter how often: a whole number.'],
  [{ least: '-1' }, 'Enter how often: a whole number.'],
  [{ count: 'BETWEEN', least: '3', most: '2' }, 'The most must not be less than the least.'],
  [{ conditions: [] }, 'Add a condition on the span.'],
  [{ relation: { ...PLAIN, id: 'CHILD' } }, 'Add a condition on the other span.'],
  [
    { relation: { ...PLAIN, id: 'PRECEDED_BY', conditions: emptyConditions(SPAN_FIELDS), without: [] } },
    'Add a condition on the spans between.',
  ],
  [
    { conditions: [{ key: 'duration_ms', operator: 'GT', values: ['soon'], ignoreCase: false }] },
    'Duration (ms): Enter a number.',
  ],
  [
    { conditions: [{ key: 'resource.', operator: 'EQ', values: [''], ignoreCase: false, type: 'string' }] },
    'Enter the key of an attribute.',
  ],
  [
    { conditions: [{ key: 'attributes.n', operator: 'EQ', values: [''], ignoreCase: false, type: 'number' }] },
    'attributes.n: Enter a number.',
  ],
] as [Partial<SpanDraft>, string][])('%j is refused', (changes, problem) => {
  expect(readSpanDraft({ ...emptySpanDraft(SPAN_FIELDS), ...changes }, SPAN_FIELDS)).toEqual({ problem });
});
