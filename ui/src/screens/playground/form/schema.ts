/** Form fields for a JSON Schema. Values that no field supports are edited as JSON. */
import type { JsonSchema } from '../../../api/components';

interface Described {
  title: string | null;
  description: string | null;
}

export type Field = Described &
  (
    | { kind: 'text' }
    | { kind: 'number'; whole: boolean }
    | { kind: 'boolean' }
    | { kind: 'choice'; options: unknown[] }
    | { kind: 'object'; properties: { name: string; field: Field; required: boolean }[] }
    | { kind: 'array'; items: Field }
    | { kind: 'json'; schema: JsonSchema }
  );

/** The maximum depth of nested schemas, because a schema may refer to itself. */
const MAX_DEPTH = 8;

/** Returns the field of a schema. */
export function fieldOf(schema: JsonSchema, root: JsonSchema = schema, depth = 0): Field {
  const resolved = resolve(schema, root);
  const described = { title: textOrNull(resolved['title']), description: textOrNull(resolved['description']) };
  const json: Field = { ...described, kind: 'json', schema: resolved };
  if (depth > MAX_DEPTH) return json;
  if (Array.isArray(resolved['enum'])) return { ...described, kind: 'choice', options: resolved['enum'] as unknown[] };
  if ('const' in resolved) return { ...described, kind: 'choice', options: [resolved['const']] };
  switch (resolved['type']) {
    case 'string':
      return { ...described, kind: 'text' };
    case 'integer':
    case 'number':
      return { ...described, kind: 'number', whole: resolved['type'] === 'integer' };
    case 'boolean':
      return { ...described, kind: 'boolean' };
    case 'object':
      return objectField(resolved, root, depth) ?? json;
    case 'array':
      return isSchema(resolved['items'])
        ? { ...described, kind: 'array', items: fieldOf(resolved['items'], root, depth + 1) }
        : json;
    default:
      return json;
  }
}

/** Returns the initial value of a field: the default of its schema, or undefined. */
export function defaultOf(schema: JsonSchema, root: JsonSchema = schema): unknown {
  const resolved = resolve(schema, root);
  if ('default' in resolved) return resolved['default'];
  if (resolved['type'] !== 'object' || !isSchema(resolved['properties'])) return undefined;
  const given = Object.entries(resolved['properties']).flatMap(([name, property]) => {
    const value = isSchema(property) ? defaultOf(property, root) : undefined;
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(given);
}

function objectField(schema: JsonSchema, root: JsonSchema, depth: number): Field | null {
  const properties = schema['properties'];
  if (!isSchema(properties)) return null;
  const required = new Set(Array.isArray(schema['required']) ? (schema['required'] as string[]) : []);
  const fields = Object.entries(properties).map(([name, property]) => ({
    name,
    field: fieldOf(isSchema(property) ? property : {}, root, depth + 1),
    required: required.has(name),
  }));
  return {
    title: textOrNull(schema['title']),
    description: textOrNull(schema['description']),
    kind: 'object',
    properties: fields,
  };
}

/** Resolves `$ref` within the schema, and treats "X or null" as `X`. */
function resolve(schema: JsonSchema, root: JsonSchema): JsonSchema {
  let current = schema;
  for (let step = 0; step < MAX_DEPTH; step += 1) {
    const next = referred(current, root) ?? onlyChoice(current);
    if (next === null) return current;
    const { $ref, anyOf, oneOf, allOf, ...own } = current;
    void [$ref, anyOf, oneOf, allOf];
    current = { ...next, ...own };
  }
  return current;
}

function referred(schema: JsonSchema, root: JsonSchema): JsonSchema | null {
  const path = schema['$ref'];
  if (typeof path !== 'string' || !path.startsWith('#/')) return null;
  let found: unknown = root;
  for (const segment of path.slice(2).split('/')) {
    const name = segment.replaceAll('~1', '/').replaceAll('~0', '~');
    found = isSchema(found) ? found[name] : undefined;
  }
  return isSchema(found) ? found : null;
}

function onlyChoice(schema: JsonSchema): JsonSchema | null {
  const choices = schema['anyOf'] ?? schema['oneOf'] ?? schema['allOf'];
  if (!Array.isArray(choices)) return null;
  const others = choices.filter((choice): choice is JsonSchema => isSchema(choice) && choice['type'] !== 'null');
  return others.length === 1 ? (others[0] ?? null) : null;
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
