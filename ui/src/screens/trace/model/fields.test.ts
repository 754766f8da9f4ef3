import { expect, test } from 'vitest';

import { valuesOfSpan } from './fields';
import { spansOf } from './testing/random-spans';

test('a span is like others by what it has, unless that is too long for a link', () => {
  const spans = spansOf({ parent: [-1, 0, 0], name: ['chat', '', 'x'.repeat(301)], model: ['gpt-4.1', null, null] });
  expect([0, 1, 2].map((span) => valuesOfSpan(spans, span).map(({ field, value }) => [field, value]))).toEqual([
    [
      ['name', 'chat'],
      ['model', 'gpt-4.1'],
    ],
    [],
    [],
  ]);
});
