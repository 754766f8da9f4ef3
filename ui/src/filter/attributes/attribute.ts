/**
 * Conditions on attributes under their original names: `attributes.<key>` and `resource.<key>`. They are not in the
 * table of fields, and each value has its own type: docs/reference/filter.md#attributes.
 */
import type { FilterField } from '../../api/traces';
import type { Value } from '../expression';

/** The prefixes of keys: attributes of a span, and attributes of its resource. */
export const SCOPES = ['attributes.', 'resource.'] as const;
export type Scope = (typeof SCOPES)[number];

/** The types of attribute values and their names. */
export const TYPES = { string: 'text', number: 'number', boolean: 'true or false' } as const;
export type AttributeType = keyof typeof TYPES;

const ORDERED = ['EQ', 'NEQ', 'GT', 'GTE', 'LT', 'LTE', 'IN', 'EXISTS'];
const OPERATORS: Record<AttributeType, string[]> = {
  string: [...ORDERED, 'CONTAINS', 'STARTSWITH'],
  number: ORDERED,
  boolean: ['EQ', 'NEQ', 'EXISTS'],
};
/** The maximum length of a key in bytes of UTF-8. */
const MAX_KEY_BYTES = 1_024;

/** Returns the prefix of an attribute key; null for the key of a field. */
export function scopeOf(key: string): Scope | null {
  return SCOPES.find((scope) => key.startsWith(scope)) ?? null;
}

/** Returns an attribute as a field with values of one type. */
export function attributeField(key: string, type: AttributeType): FilterField {
  return { key, label: key, type, operators: OPERATORS[type], values: null };
}

/** Returns the common type of these values; text if there are no values. */
export function typeOf([first]: readonly Value[]): AttributeType {
  const type = typeof first;
  return type === 'number' || type === 'boolean' ? type : 'string';
}

/** Returns why the service rejects an attribute key; null if it is valid. */
export function problemOf(key: string): string | null {
  const scope = scopeOf(key);
  if (scope === null) return null;
  const bytes = new TextEncoder().encode(key.slice(scope.length)).length;
  if (bytes === 0) return 'Enter the key of an attribute.';
  return bytes > MAX_KEY_BYTES ? 'Enter a shorter key of an attribute.' : null;
}

/** Returns the type of value that a text looks like. */
export function looksLike(text: string): AttributeType {
  if (text === 'true' || text === 'false') return 'boolean';
  return /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text) ? 'number' : 'string';
}
