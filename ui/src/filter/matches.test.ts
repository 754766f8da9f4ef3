import { expect, test } from 'vitest';

import { hasMatches } from './matches';

const SAID = { op: 'CONTAINS', key: 'text', value: 'refund' };
const SPAN = { op: 'SPAN', where: SAID };
const NAMED = { op: 'CONTAINS', key: 'name', value: 'refund' };

test.each([SAID, SPAN, { op: 'AND', conditions: [NAMED, { op: 'OR', conditions: [NAMED, SPAN] }] }])('%j', (filter) => {
  expect(hasMatches(filter)).toBe(true);
});

test.each([
  null,
  NAMED,
  { op: 'EXISTS', key: 'text' },
  { op: 'NOT', condition: SAID },
  { op: 'AND', conditions: [NAMED, { op: 'NOT', condition: SPAN }] },
  { op: 'AND', conditions: 5 },
  [SAID],
])('%j has none', (filter) => {
  expect(hasMatches(filter)).toBe(false);
});
