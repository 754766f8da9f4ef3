import { expect, test } from 'vitest';

import { spansOf } from './testing/random-spans';
import { unpricedModels } from './unpriced';

test('each model without a price is named once', () => {
  const spans = spansOf({
    parent: [-1, 0, 0, 0, 0],
    model: [null, 'gpt-4.1', 'unheard-of', null, 'unheard-of'],
    cost: [0, 0.5, null, null, null],
  });
  expect(unpricedModels(spans)).toEqual(['unheard-of', 'calls without a model name']);
});
