import { expect, test } from 'vitest';

import type { SpanDetail } from '../../../api/trace';
import { readJson, type JsonLines } from '../../../parts/text/json-lines';
import { keyOf } from '../../../parts/text/json-rows';
import { lineValues, recordedOf, valuesOfSpan } from './fields';
import { spansOf } from './testing/random-spans';

test('similar spans are found by the fields of a span, unless a value is too long for a link', () => {
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

/** Returns the links in the lines of a span as `field=value`, by the keys of the lines. */
function found(detail: Partial<SpanDetail>): Record<string, string> {
  const lines = readJson(JSON.stringify(recordedOf(detail as SpanDetail), null, 2)) as JsonLines;
  const values = [...lineValues(lines, detail as SpanDetail)];
  return Object.fromEntries(
    values.map(([line, { field, value }]) => [keyOf(lines, line), `${field}=${JSON.stringify(value)}`]),
  );
}

test('every short value of an attribute is found in its line, with its type', () => {
  const attributes = { tier: 'gold', 'a.b': '7', count: 7, share: 0.25, cold: false, empty: '', 'q"\\é': 'x' };
  expect(found({ extra_data: { attributes } })).toEqual({
    tier: 'attributes.tier="gold"',
    'a.b': 'attributes.a.b="7"',
    count: 'attributes.count=7',
    share: 'attributes.share=0.25',
    cold: 'attributes.cold=false',
    empty: 'attributes.empty=""',
    'q\\"\\\\é': 'attributes.q"\\é="x"',
  });
});

test('resource attributes are listed apart, and fields of the span are no attributes', () => {
  const detail: Partial<SpanDetail> = {
    metadata: { provider: 'openai', input_tokens: 7 },
    extra_data: {
      attributes: { kind: 'hidden by the kind of the span', nested: { attributes: { tier: 'gold' } } },
      kind: 'CLIENT',
      resource: { attributes: { 'service.name': 'shop', replicas: 2 }, schema_url: 'https://example.org' },
      scope: { name: 'tracer', attributes: { tier: 'gold' } },
    },
  };
  expect(found(detail)).toEqual({
    provider: 'provider="openai"',
    'service.name': 'resource.service.name="shop"',
    replicas: 'resource.replicas=2',
  });
  expect(found({ extra_data: { attributes: { resource: { attributes: { tier: 'gold' } } } } })).toEqual({});
});

test('what a filter cannot say exactly is not found', () => {
  const long = 'x'.repeat(300);
  const attributes = { long, [long]: 1, list: ['a'], map: { a: 1 }, none: null, id: 2 ** 60, nan: 'NaN' };
  expect(found({ extra_data: { attributes } })).toEqual({});
});
