/** The values of fields beside the list, with their counts. */
import { fetchFacets, type Counted, type Facet, type Facets } from '../../../api/facets';
import { Loading } from '../../../state/loading.svelte';
import type { Scope } from '../query.svelte';

/** The fields, in their order. */
export const FACETS = [
  'status',
  'agent_id',
  'team_id',
  'workflow_id',
  'name',
  'service',
  'environment',
  'release',
  'user_id',
  'session_id',
] as const;

const MAX_VALUES = 8;
/** The values of one field, if the user requests more. */
const MAX_MORE = 50;

export class FacetsState {
  readonly loading = new Loading<Facets>();

  async load(scope: Scope): Promise<void> {
    const request = { ...scope, fields: [...FACETS], limit: MAX_VALUES, excludeOwn: true };
    await this.loading.load((signal) => fetchFacets(request, signal));
  }
}

/** More values of one field, with a prefix. */
export class MoreValues {
  readonly loading = new Loading<Facet | null>();

  async load(scope: Scope, key: Counted, text: string): Promise<void> {
    const prefix = text === '' ? {} : { prefix: { field: key, text } };
    const request = { ...scope, fields: [key], limit: MAX_MORE, ...prefix, excludeOwn: true };
    await this.loading.load(async (signal) => (await fetchFacets(request, signal)).data[key] ?? null);
  }
}
