/**
 * Conditions on attributes, by the names that programs sent: `attributes.<key>` and `resource.<key>`. No list of fields
 * has them, and their values have a type each: docs/reference/filter.md#attributes.
 */
import type { FilterField } from '../../api/traces';
import type { Value } from '../expression';

/** What stands before the key: of an attribute of a span, and of one of its resource. */
export const SCOPES = ['attributes.', 'resource.'] as const;
export type Scope = (typeof SCOPES)[number];

/** The types of values that an attribute is compared with, and how they are named. */
export const TYPES = { string: 'text', number: 'number', boolean: 'true or false' } as const;
export type AttributeType = keyof typeof TYPES;

const ORDERED = ['EQ', 'NEQ', 'GT', 'GTE', 'LT', 'LTE', 'IN', 'EXISTS'];
const OPERATORS: Record<AttributeType, string[]> = {
  string: [...ORDERED, 'CONTAINS', 'STARTSWITH'],
  number: ORDERED,
  boolean: ['EQ', 'NEQ', 'EXISTS'],
};
/** The service takes no longer key, in bytes of UTF-8. */
const MAX_KEY_BYTES = 1_024;

/** Returns what a key begins with; null for that of a field. */
export function scopeOf(key: string): Scope | null {
  return SCOPES.find((scope) => key.startsWith(scope)) ?? null;
}

/** Returns an attribute as a field of which all values have one type. */
export function attributeField(key: string, type: AttributeType): FilterField {
  return { key, label: key, type, operators: OPERATORS[type], values: null };
}

/** Returns the type that a condition with these values compares; a text for one without values. */
export function typeOf([first]: readonly Value[]): AttributeType {
  const type = typeof first;
  return type === 'number' || type === 'boolean' ? type : 'string';
}

/** Returns why the service does not take a key of an attribute; null if it does. */
export function problemOf(key: string): string | null {
  const scope = scopeOf(key);
  if (scope === null) return null;
  const bytes = new TextEncoder().encode(key.slice(scope.length)).length;
  if (bytes === 0) return 'Enter the key of an attribute.';
  return bytes > MAX_KEY_BYTES ? 'Enter a shorter key of an attribute.' : null;
}

/** Returns the type whose values are written like a text. */
export function looksLike(text: string): AttributeType {
  if (text === 'true' || text === 'false') return 'boolean';
  return /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text) ? 'number' : 'string';
}
