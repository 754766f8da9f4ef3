/** Values of fields and keys of attributes, with their counts: docs/reference/api-counts.md#facets and #attributes. */
import type { Expression } from '../filter/expression';
import { client, expectData, inStore, type Schema } from './client';

export type FacetValue = Schema['FacetValue'];
export type Facet = Schema['Facet'];
export type Facets = Schema['FacetsResponse'];

/** A field that can be counted. */
export type Counted = Schema['FacetPrefix']['field'];

export interface FacetsRequest {
  filter: Expression | null;
  store: string | null;
  /** At least one field, each once. */
  fields: Counted[];
  limit: number;
  /** Restricts the values of one field to those with a prefix. */
  prefix?: Schema['FacetPrefix'];
  /** True if the conditions on a field are ignored in the counts of the same field. */
  excludeOwn: boolean;
}

const COUNTED: Record<Counted, true> = {
  status: true,
  user_id: true,
  agent_id: true,
  team_id: true,
  workflow_id: true,
  session_id: true,
  run_id: true,
  name: true,
  service: true,
  environment: true,
  release: true,
};

/** Returns true if the values of a field can be counted. */
export function isCounted(field: string): field is Counted {
  return Object.hasOwn(COUNTED, field);
}

/** Returns the most frequent values of fields among the matching traces. */
export function fetchFacets(request: FacetsRequest, signal: AbortSignal): Promise<Facets> {
  const { store, excludeOwn, ...rest } = request;
  const body = { ...rest, exclude_own: excludeOwn };
  return expectData(client.POST('/traces/facets', { params: { query: inStore(store) }, body, signal }));
}

const OF_SPANS = ['name', 'type', 'model', 'tool_name', 'service'] as const;

/** A text field of spans whose values can be suggested. */
export type SpanText = (typeof OF_SPANS)[number];

export function isOfSpans(key: string): key is SpanText {
  return (OF_SPANS as readonly string[]).includes(key);
}

/** The number of spans whose values are read. */
const SAMPLE_SIZE = 100;

/** Returns the values of a field with a prefix, from the newest spans that have one, most frequent first. */
export async function fetchSpanValues(
  key: SpanText,
  text: string,
  store: string | null,
  signal: AbortSignal,
): Promise<string[]> {
  const filter: Expression =
    text === '' ? { op: 'EXISTS', key } : { op: 'STARTSWITH', key, value: text, ignore_case: true };
  const body = { filter, limit: SAMPLE_SIZE };
  const page = await expectData(client.POST('/spans/search', { params: { query: inStore(store) }, body, signal }));
  const counts = new Map<string, number>();
  for (const span of page.data) {
    const value = span[key];
    if (typeof value === 'string') counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return [...counts].sort(([, one], [, other]) => other - one).map(([value]) => value);
}

/** An attribute key and the number of traces that have it. */
export type AttributeKey = Schema['AttributeKey'];

/** The most frequent keys, and the number of traces with unknown keys, whose segments are not indexed yet. */
export interface AttributeKeys {
  keys: AttributeKey[];
  uncounted: number;
}

/** Returns the most frequent attribute keys with a prefix: `attributes.` or `resource.`, and the beginning of a key. */
export async function fetchAttributeKeys(
  prefix: string,
  limit: number,
  store: string | null,
  signal: AbortSignal,
): Promise<AttributeKeys> {
  const query = { ...inStore(store), prefix, limit };
  const { data, meta } = await expectData(client.GET('/traces/attributes', { params: { query }, signal }));
  return { keys: data, uncounted: meta.uncounted };
}
