import { describe, expect, test } from 'vitest';

import { matchesOf, SpanSearch } from './search';
import { randomSpans, spansOf } from './testing/random-spans';

describe.each([1, 2, 3, 4, 5])('laws of a search, seed %d', (seed) => {
  const spans = randomSpans(seed, 80);
  const search = new SpanSearch(spans);

  test.each(['chat', 'ORDER', 'llm', 'gpt', 'e', 'unheard', '00000000000000', 'nowhere'])('%s', (text) => {
    const wanted = text.toLowerCase();
    const found = search.find(text);
    const expected = spans.ids.map((id, span) => {
      const texts = [spans.name, spans.type, spans.tool, spans.model, spans.agent, spans.error].map((each) =>
        each.at(span),
      );
      const isId = /^[0-9a-f]{3,}$/.test(wanted) && id.includes(wanted);
      return isId || texts.some((each) => each?.toLowerCase().includes(wanted) === true) ? 1 : 0;
    });
    expect([...(found?.mask ?? [])]).toEqual(expected);
    expect([...(found?.spans ?? [])]).toEqual([...expected.keys()].filter((span) => expected[span] === 1));
  });
});

test('no text is no search', () => {
  expect(new SpanSearch(spansOf({ parent: [-1] })).find('  ')).toBeNull();
});

test('spans are found by their ids, in the order of the tree', () => {
  const spans = randomSpans(7, 40);
  const found = matchesOf(spans, [spans.ids[30] ?? '', 'nowhere', spans.ids[4] ?? '', spans.ids[4] ?? '']);
  expect([...found.spans]).toEqual([4, 30]);
  expect(found.mask.reduce((sum, mark) => sum + mark, 0)).toBe(2);
});
