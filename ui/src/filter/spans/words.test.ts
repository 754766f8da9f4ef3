import { expect, test } from 'vitest';

import type { Expression } from '../expression';
import { drawing } from '../../testing/drawing';
import { inWords } from '../words';
import { readSpanDraft } from './draft';
import { randomSpanDraft, SPAN_FIELDS } from './testing/random-spans';

const TABLES = {
  all: [{ key: 'name', label: 'Trace Name', type: 'string' as const, operators: [], values: null }],
  spans: SPAN_FIELDS,
};
const eq = (key: string, value: unknown) => ({ op: 'EQ', key, value });
const and = (...conditions: unknown[]) => ({ op: 'AND', conditions });
const not = (condition: unknown) => ({ op: 'NOT', condition });
const axis = (op: string, where: unknown) => ({ op, where });
const span = (where: unknown, rest: object = {}) => ({ op: 'SPAN', ...rest, where });

const TOOL = eq('type', 'TOOL');
const LLM = eq('type', 'LLM');
const FAILED = eq('status', 'ERROR');
const SLOW = { op: 'GTE', key: 'duration_ms', value: 2000 };
const THEN = axis('FOLLOWED_BY', LLM);

test.each([
  [span(and(TOOL, FAILED, THEN)), 'a tool span fails, then an LLM span'],
  [span(and(TOOL, FAILED, not(THEN))), 'a tool span fails, without an LLM span after it'],
  [span(and(TOOL, FAILED)), 'a tool span fails'],
  [span(and(TOOL, eq('status', 'OK')), { at_least: 3 }), 'at least 3 tool spans succeed'],
  [span(and(TOOL, FAILED), { at_most: 0 }), 'no tool span fails'],
  [not(span(and(TOOL, FAILED))), 'no tool span fails'],
  [not(span(and(TOOL, FAILED, THEN))), 'no failed tool span followed by an LLM span'],
  [span(and(TOOL, FAILED, THEN), { at_least: 2 }), 'at least 2 failed tool spans followed by an LLM span'],
  [span(and(TOOL, FAILED, SLOW, THEN)), 'a failed tool span where Duration (ms) is at least 2,000, then an LLM span'],
  [span(eq('tool_name', 'search'), { at_least: 5 }), 'at least 5 calls of the tool search'],
  [span(eq('tool_name', 'search'), { at_most: 5 }), '1 to 5 calls of the tool search'],
  [span(eq('tool_name', 'search'), { at_least: 0, at_most: 1 }), 'at most 1 call of the tool search'],
  [span(eq('tool_name', 'search'), { at_least: 2, at_most: 2 }), 'exactly 2 calls of the tool search'],
  [
    span(and(eq('tool_name', 'refund'), not(axis('PRECEDED_BY', eq('tool_name', 'approve'))))),
    'a call of the tool refund, without a call of the tool approve before it',
  ],
  [span(and(eq('model', 'gpt-4.1'), LLM)), 'an LLM span of the model gpt-4.1'],
  [span(eq('name', 'chat')), 'a span named chat'],
  [span(eq('type', 'tool')), 'a span where Type is tool'],
  [span({ ...TOOL, ignore_case: true }), 'a span where Type is TOOL (in any case)'],
  [span(and(TOOL, LLM)), 'a tool span where Type is LLM'],
  [span(and(eq('is_root', true), eq('type', 'AGENT'))), 'a root agent span'],
  [span({ op: 'EXISTS', key: 'error' }), 'a span where Error is present'],
  [span({ op: 'OR', conditions: [TOOL, LLM] }), 'a span where Type is TOOL or Type is LLM'],
  [
    span(and({ op: 'OR', conditions: [TOOL, LLM] }, SLOW)),
    'a span where (Type is TOOL or Type is LLM) and Duration (ms) is at least 2,000',
  ],
  [
    span(and(TOOL, axis('PARENT', and(eq('type', 'AGENT'), axis('CHILD', and(LLM, FAILED)))))),
    'a tool span, directly below an agent span directly above a failed LLM span',
  ],
  [
    span(and(TOOL, axis('ANCESTOR', LLM), axis('DESCENDANT', LLM))),
    'a tool span, below an LLM span, above an LLM span',
  ],
  [
    span({ op: 'OR', conditions: [TOOL, not(axis('CHILD', LLM)), THEN] }),
    'a span where Type is TOOL or without an LLM span directly below it or followed by an LLM span',
  ],
  [span(and(LLM, not(axis('CHILD', FAILED)))), 'an LLM span, without a failed span directly below it'],
  [span(and(TOOL, axis('SIBLING', FAILED))), 'a tool span, beside a failed span'],
  [span(and(TOOL, not(axis('SIBLING', LLM)))), 'a tool span, not beside an LLM span'],
  [span(and(TOOL, { ...THEN, from: 'start' })), 'a tool span, started earlier than an LLM span'],
  [span(and(TOOL, not({ ...THEN, from: 'start' }))), 'a tool span, without an LLM span started later'],
  [span(and(TOOL, { ...THEN, from: 'end', scope: 'siblings' })), 'a tool span, then an LLM span beside it'],
  [span(and(TOOL, not({ ...THEN, scope: 'siblings' }))), 'a tool span, without an LLM span after and beside it'],
  [
    span(and(TOOL, FAILED, { ...THEN, op: 'PRECEDED_BY', from: 'start', scope: 'siblings' })),
    'a tool span fails, started later than an LLM span beside it',
  ],
  [
    span(and(TOOL, { ...THEN, where: TOOL, same: ['tool_name', 'name'], without: and(LLM, FAILED) })),
    'a tool span, then a tool span with the same Tool and Name and no failed LLM span between',
  ],
  [
    span(and(TOOL, { ...THEN, same: ['name'], where: { ...THEN, same: ['name'] } })),
    'a tool span, then a span with the same Name followed by an LLM span with the same Name',
  ],
  [
    span(and(TOOL, { op: 'SIBLING', same: ['tool_name'], where: FAILED })),
    'a tool span, beside a failed span with the same Tool',
  ],
  [span(and(TOOL, { ...THEN, until: 'now' })), /"until":"now"/],
  [not(span(TOOL, { at_least: 2 })), 'not at least 2 tool spans'],
  [and(eq('name', 'a'), span(and(TOOL, FAILED))), 'Trace Name is a and a tool span fails'],
  [span(TOOL, { from: 'start' }), '{"op":"SPAN","from":"start","where":{"op":"EQ","key":"type","value":"TOOL"}}'],
])('%j', (expression, words) => {
  const said = inWords(expression as unknown as Expression, TABLES);
  if (typeof words === 'string') expect(said).toBe(words);
  else expect(said).toMatch(words);
});

test('every condition the form makes has words, and they contain every searched text', () => {
  for (let seed = 0; seed < 300; seed += 1) {
    const draft = randomSpanDraft(drawing(seed));
    const read = readSpanDraft(draft, SPAN_FIELDS);
    const words = inWords((read as { expression: Expression }).expression, TABLES);
    expect(words).not.toContain('"op"');
    const texts = [...draft.conditions, ...(draft.relation?.conditions ?? [])]
      .filter((each) => each.key === 'error' && each.operator !== 'EXISTS')
      .flatMap((each) => each.values);
    for (const text of texts) expect(words).toContain(text);
  }
});
