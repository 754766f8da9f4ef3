import { expect, test } from 'vitest';

import { formatCost, formatDollars } from './dollars';

test.each([
  [0, '$0'],
  [0.00001, 'under $0.0001'],
  [0.00123, '$0.0012'],
  [1.25, '$1.25'],
  [12_345, '$12,345'],
])('%d dollars are %s', (dollars, text) => {
  expect(formatDollars(dollars)).toBe(text);
});

test('a cost with an unknown part is shown as one', () => {
  expect(formatCost({ cost: 0 })).toBe('$0');
  expect(formatCost({ cost_partial: 0.12 })).toBe('at least $0.12');
  expect(formatCost({ cost_partial: 0 })).toBe('unknown');
  expect(formatCost({})).toBe('unknown');
});
