import { expect, test } from 'vitest';

import { conjuncts, type Expression, type Value } from './expression';
import { choiceOf, toggleChosen, toggleExcluded } from './selection';

const OTHER: Expression = { op: 'OR', conditions: [{ op: 'EQ', key: 'agent_id', value: 'a' }] };
const FILTERS: (Expression | null)[] = [
  null,
  OTHER,
  { op: 'EQ', key: 'agent_id', value: 'a' },
  { op: 'NEQ', key: 'agent_id', value: 'a' },
  { op: 'NOT', condition: { op: 'IN', key: 'agent_id', values: ['a', 'b'] } },
  { op: 'NOT', condition: { op: 'EXISTS', key: 'agent_id' } },
  { op: 'EXISTS', key: 'agent_id' },
  { op: 'AND', conditions: [OTHER, { op: 'IN', key: 'agent_id', value: ['a', 'b', 'c'] }] },
];
const VALUES: Value[] = ['a', 'b', 'z', null];

test.each(FILTERS)('after a choice in %j the value is chosen, and after another it is not', (filter) => {
  for (const value of VALUES) {
    const once = toggleChosen(filter, 'agent_id', value);
    const was = choiceOf(filter, 'agent_id', value);
    expect(choiceOf(once, 'agent_id', value)).toBe(was === 'chosen' ? null : 'chosen');
    expect(choiceOf(toggleChosen(once, 'agent_id', value), 'agent_id', value)).toBe(was === 'chosen' ? 'chosen' : null);
  }
});

test.each(FILTERS)('the same for values excluded from %j', (filter) => {
  for (const value of VALUES) {
    const once = toggleExcluded(filter, 'agent_id', value);
    const was = choiceOf(filter, 'agent_id', value);
    expect(choiceOf(once, 'agent_id', value)).toBe(was === 'excluded' ? null : 'excluded');
  }
});

test.each(FILTERS)('conditions on other fields of %j stay', (filter) => {
  for (const value of VALUES) {
    for (const toggle of [toggleChosen, toggleExcluded]) {
      const left = conjuncts(toggle(filter, 'user_id', value));
      expect(left).toEqual(expect.arrayContaining(conjuncts(filter)));
    }
  }
});

test('several chosen values are one IN, and one is an EQ', () => {
  const one = toggleChosen(null, 'agent_id', 'a');
  const two = toggleChosen(one, 'agent_id', 'b');
  expect(one).toEqual({ op: 'EQ', key: 'agent_id', value: 'a' });
  expect(two).toEqual({ op: 'IN', key: 'agent_id', values: ['a', 'b'] });
  expect(toggleChosen(two, 'agent_id', 'a')).toEqual({ op: 'EQ', key: 'agent_id', value: 'b' });
});

test('a chosen value replaces the choice of traces without any', () => {
  const missing = toggleChosen(null, 'agent_id', null);
  expect(toggleChosen(missing, 'agent_id', 'a')).toEqual({ op: 'EQ', key: 'agent_id', value: 'a' });
});
