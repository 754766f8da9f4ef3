/** Values of fields with their counts: docs/reference/api.md#trace-facets. */
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
