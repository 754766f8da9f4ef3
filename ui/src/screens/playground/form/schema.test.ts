import { expect, test } from 'vitest';

import { defaultOf, fieldOf } from './schema';

const schema = {
  type: 'object',
  title: 'Order',
  required: ['city', 'size'],
  properties: {
    city: { type: 'string', description: 'Where to.' },
    size: { type: 'integer', default: 3 },
    weight: { anyOf: [{ type: 'number' }, { type: 'null' }], default: null },
    units: { enum: ['metric', 'imperial'], default: 'metric' },
    gift: { type: 'boolean' },
    tags: { type: 'array', items: { type: 'string' } },
    address: { $ref: '#/$defs/Address' },
    either: { anyOf: [{ type: 'string' }, { type: 'integer' }] },
  },
  $defs: { Address: { type: 'object', properties: { street: { type: 'string', default: 'Main' } } } },
};

test('every type has its field', () => {
  const field = fieldOf(schema);
  if (field.kind !== 'object') throw new Error(field.kind);
  const kinds = Object.fromEntries(
    field.properties.map(({ name, field: { kind }, required }) => [name, [kind, required]]),
  );
  expect(kinds).toEqual({
    city: ['text', true],
    size: ['number', true],
    weight: ['number', false],
    units: ['choice', false],
    gift: ['boolean', false],
    tags: ['array', false],
    address: ['object', false],
    either: ['json', false],
  });
});

test('defaults are the first value', () => {
  expect(defaultOf(schema)).toEqual({ size: 3, weight: null, units: 'metric', address: { street: 'Main' } });
  expect(defaultOf({ type: 'string' })).toBeUndefined();
});

test('a schema that refers to itself ends as JSON', () => {
  const tree = { $ref: '#/$defs/Node', $defs: { Node: { type: 'array', items: { $ref: '#/$defs/Node' } } } };
  expect(JSON.stringify(fieldOf(tree))).toContain('"kind":"json"');
  expect(fieldOf({ $ref: '#/$defs/Loop', $defs: { Loop: { $ref: '#/$defs/Loop' } } }).kind).toBe('json');
});

test.each([[{}], [{ type: 'object' }], [{ type: 'array' }], [{ type: ['string', 'null'] }], [{ $ref: 'other.json' }]])(
  '%j is edited as JSON',
  (odd) => {
    expect(fieldOf(odd).kind).toBe('json');
  },
);
