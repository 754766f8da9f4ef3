import { describe, expect, test } from 'vitest';

import { costOf, formatCost, formatDollars, priceOf, readTable, type PriceTable } from './cost';
import prices from '../../../rust/trace/cost/prices.json';

const table: PriceTable = {
  as_of: '2026-01-01',
  prices: [
    { model: 'gpt-4.1', input: 2, output: 8, cached: 0.5 },
    { model: 'gpt-4.1-mini', input: 0.4, output: 1.6 },
    { model: 'claude-sonnet-4', input: 3, output: 15 },
    { model: 'acme/*', input: 1, output: 1 },
    { model: 'a*b*c', input: 9, output: 9 },
  ],
};

test.each([
  ['gpt-4.1', 'gpt-4.1'],
  ['GPT-4.1', 'gpt-4.1'],
  ['openai/gpt-4.1', 'gpt-4.1'],
  ['gpt-4.1-2025-04-14', 'gpt-4.1'],
  ['gpt-4.1-mini', 'gpt-4.1-mini'],
  ['gpt-4.1-mini-2025-04-14', 'gpt-4.1-mini'],
  ['gpt-4.1-latest', 'gpt-4.1'],
  ['us.anthropic.claude-sonnet-4-20250514-v1:0', 'claude-sonnet-4'],
  ['claude-sonnet-4@20250514', 'claude-sonnet-4'],
  ['acme/anything', 'acme/*'],
  ['a-x-b-y-c', 'a*b*c'],
  ['abc', 'a*b*c'],
  ['ac', null],
  ['gpt-4.1-nano', null],
  ['gpt-4', null],
  ['claude-sonnet-4-9', null],
  ['gpt-4.12', null],
  ['claude-sonnet-4-turbo', null],
  ['', null],
])('the price of %s is that of %s', (model, expected) => {
  expect(priceOf(model, [table])?.model ?? null).toBe(expected);
});

test('the first table that knows a model decides', () => {
  const own = { as_of: '2026-02-02', prices: [{ model: 'gpt-*', input: 1, output: 1 }] };
  expect(priceOf('gpt-4.1', [own, table])?.input).toBe(1);
  expect(priceOf('claude-sonnet-4', [own, table])?.input).toBe(3);
});

describe('the cost of tokens', () => {
  const price = { model: 'm', input: 2, cached: 0.5, output: 8, reasoning: 10 };

  test('cached tokens are part of the input, reasoning of the output', () => {
    const tokens = { input: 1_000_000, cached: 400_000, output: 100_000, reasoning: 50_000 };
    expect(costOf(tokens, price)).toBeCloseTo(0.6 * 2 + 0.4 * 0.5 + 0.05 * 8 + 0.05 * 10);
  });

  test('without a price of their own they cost as the others', () => {
    const tokens = { input: 1_000_000, cached: 400_000, output: 100_000, reasoning: 50_000 };
    expect(costOf(tokens, { model: 'm', input: 2, output: 8 })).toBeCloseTo(2 + 0.8);
  });

  test('parts larger than the whole cost no more than the whole', () => {
    expect(costOf({ input: 10, cached: 100, output: 10, reasoning: 100 }, price)).toBeCloseTo(
      (10 * 0.5 + 10 * 10) / 1e6,
    );
  });
});

test('the table of the page is one, and each of its models has its own price', () => {
  const own = readTable(JSON.stringify(prices));
  expect(own.prices.length).toBeGreaterThan(12);
  for (const price of own.prices) expect(priceOf(price.model, [own])).toEqual(price);
});

test.each([
  ['[]', 'an object'],
  ['{}', '$.as_of'],
  ['{"as_of": "2026-01-01"}', '$.prices'],
  ['{"as_of": "2026-01-01", "prices": [{"model": ""}]}', '$.prices[0].model'],
  ['{"as_of": "2026-01-01", "prices": [{"model": "m", "input": 1}]}', '$.prices[0].output'],
  ['{"as_of": "2026-01-01", "prices": [{"model": "m", "input": -1, "output": 1}]}', '$.prices[0].input'],
])('%s is rejected with its place', (text, place) => {
  expect(() => readTable(text)).toThrow(place);
});

test.each([
  [0, '$0'],
  [0.00001, 'under $0.0001'],
  [0.00123, '$0.0012'],
  [1.25, '$1.25'],
  [12_345, '$12,345'],
])('%d dollars are %s', (dollars, text) => {
  expect(formatDollars(dollars)).toBe(text);
});

test('an unknown part is said', () => {
  expect(formatCost({ known: 0, unknown: 0 })).toBe('$0');
  expect(formatCost({ known: 0.12, unknown: 3 })).toBe('at least $0.12');
  expect(formatCost({ known: 0, unknown: 3 })).toBe('unknown');
});
