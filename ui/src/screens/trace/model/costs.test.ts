import { expect, test } from 'vitest';

import { SpanCosts, tokensBelow } from './costs';
import { randomSpans, spansOf } from './testing/random-spans';

const price = { model: 'gpt-4.1', input: 2, output: 8 };
const priceOf = (model: string) => (model === 'gpt-4.1' ? price : null);

test.each([1, 2, 3, 4, 5])('a subtree costs what its spans cost, seed %d', (seed) => {
  const spans = randomSpans(seed);
  const costs = new SpanCosts(spans, priceOf);
  for (let span = 0; span < spans.count; span += 1) {
    const within = Array.from({ length: spans.size[span] ?? 0 }, (_, index) => span + index);
    const parts = within.map((each) => costs.of(each));
    const below = costs.below(span);
    expect(below.known).toBeCloseTo(
      parts.reduce((sum, part) => sum + part.known, 0),
      12,
    );
    expect(below.unknown).toBe(parts.reduce((sum, part) => sum + part.unknown, 0));
    expect(tokensBelow(spans, span).input).toBe(within.reduce((sum, each) => sum + (spans.inputTokens[each] ?? 0), 0));
  }
});

test('a call of unknown price is counted, and one without tokens costs nothing', () => {
  const spans = spansOf({
    parent: [-1, 0, 0, 0, 0],
    model: [null, 'gpt-4.1', 'unheard-of', null, 'unheard-of'],
    tokens: [
      [0, 0],
      [1_000_000, 0],
      [5, 5],
      [5, 5],
      [0, 0],
    ],
  });
  const costs = new SpanCosts(spans, priceOf);
  expect(costs.whole).toEqual({ known: 2, unknown: 2 });
  expect(costs.of(0)).toEqual({ known: 0, unknown: 0 });
  expect(costs.of(2)).toEqual({ known: 0, unknown: 1 });
  expect(costs.unknownModels).toEqual(['unheard-of', 'a model that is not named']);
});
