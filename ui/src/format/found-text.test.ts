import { expect, test } from 'vitest';

import { foundText } from './found-text';

test('characters beyond the basic plane count as one', () => {
  expect(foundText({ context: '🙂🙂 née 東京 🙂', start: 3, end: 6 })).toEqual({
    before: '🙂🙂 ',
    found: 'née',
    after: ' 東京 🙂',
  });
});

test('a long beginning is cut, so that the match is visible', () => {
  const context = `…${'far away '.repeat(7)}refund me`;
  const { before, found, after } = foundText({ context, start: 64, end: 70 });
  expect(found + after).toBe('refund me');
  expect(before).toMatch(/^…[^ ].* $/);
  expect(before.length).toBeLessThanOrEqual(31);
  expect(context.endsWith(`${before.slice(1)}refund me`)).toBe(true);
});

test('at the beginning there is nothing before', () => {
  expect(foundText({ context: 'refund me', start: 0, end: 9 })).toEqual({ before: '', found: 'refund me', after: '' });
});
