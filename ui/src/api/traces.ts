/** Searches of traces: docs/reference/api-search.md#trace-search. */
import { all, valueIs, type Expression } from '../filter/expression';
import { hasMatches } from '../filter/matches';
import { client, expectData, inStore, type Schema } from './client';

export type TracePreview = Schema['TracePreview'];
export type PreviewPage = Schema['PreviewPage'];
export type FilterField = Schema['FilterField'];
export type Matches = Schema['Matches'];
export type MatchedText = Schema['MatchedText'];
export type SortKey = Schema['SortKey'];
export type Sort = Schema['Sort'];

export interface Search {
  filter: Expression | null;
  /** The id of the trace store; null for the default. */
  store: string | null;
  sort: Sort;
  page: number;
  limit: number;
}

/** Returns one page of traces with previews of their texts and with the matches of the filter. */
export async function searchTraces(search: Search, signal: AbortSignal): Promise<PreviewPage> {
  const { filter, store, ...rest } = search;
  // A text search over the newest traces ends once the page is full.
  const isNewestFirst = rest.sort.key === 'start_time' && rest.sort.ascending !== true;
  const page = await expectData(
    client.POST('/traces/search', {
      params: { query: inStore(store) },
      body: {
        ...rest,
        filter,
        group_by: 'run',
        detail: 'summary',
        total: isNewestFirst ? 'at_least' : 'exact',
        matches: hasMatches(filter),
      },
      signal,
    }),
  );
  return page as PreviewPage;
}

/** Returns the matches of a filter in a trace; null if it does not match. */
export async function fetchMatches(
  { id, store }: { id: string; store: string | null },
  filter: Expression,
  signal: AbortSignal,
): Promise<Matches | null> {
  const only = all(valueIs('trace_id', id), filter);
  const sort: Sort = { key: 'start_time', ascending: false };
  const page = await searchTraces({ filter: only, store, sort, page: 1, limit: 1 }, signal);
  return page.data[0]?.matches ?? null;
}

/** Returns the fields of traces and spans that filters can use, with their operators. */
export function fetchFilterSchema(): Promise<Schema['FilterSchema']> {
  return expectData(client.GET('/traces/filter-schema'));
}
