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
  /** At least one of them, each once. */
  fields: Counted[];
  limit: number;
  /** Only values of one field that begin with a text. */
  prefix?: Schema['FacetPrefix'];
  /** Whether the conditions on a field leave its own counts alone. */
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

/** Whether the values of a field can be counted. */
export function isCounted(field: string): field is Counted {
  return Object.hasOwn(COUNTED, field);
}

/** Returns the most frequent values of some fields among the traces that match. */
export function fetchFacets(request: FacetsRequest, signal: AbortSignal): Promise<Facets> {
  const { store, excludeOwn, ...rest } = request;
  const body = { ...rest, exclude_own: excludeOwn };
  return expectData(client.POST('/traces/facets', { params: { query: inStore(store) }, body, signal }));
}

const OF_SPANS = ['name', 'type', 'model', 'tool_name', 'service'] as const;

/** A text of spans whose values can be looked up. */
export type SpanText = (typeof OF_SPANS)[number];

export function isOfSpans(key: string): key is SpanText {
  return (OF_SPANS as readonly string[]).includes(key);
}

/** How many spans are looked at for their values. */
const LOOKED_AT = 100;

/** Returns the values of a field that begin with a text, of the newest spans with such a value: frequent ones first. */
export async function fetchSpanValues(
  key: SpanText,
  text: string,
  store: string | null,
  signal: AbortSignal,
): Promise<string[]> {
  const filter: Expression =
    text === '' ? { op: 'EXISTS', key } : { op: 'STARTSWITH', key, value: text, ignore_case: true };
  const body = { filter, limit: LOOKED_AT };
  const page = await expectData(client.POST('/spans/search', { params: { query: inStore(store) }, body, signal }));
  const counts = new Map<string, number>();
  for (const span of page.data) {
    const value = span[key];
    if (typeof value === 'string') counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return [...counts].sort(([, one], [, other]) => other - one).map(([value]) => value);
}

/** A key of attributes, with the number of traces that have it. */
export type AttributeKey = Schema['AttributeKey'];

/** The most frequent keys, and of how many traces the keys are not known yet: their segments are not indexed. */
export interface AttributeKeys {
  keys: AttributeKey[];
  uncounted: number;
}

/** Returns the most frequent keys of attributes that begin with a text: `attributes.` or `resource.`, and the key. */
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
