/** Measures of traces over time, by values and in bins: docs/reference/api-counts.md#aggregate. */
import type { Expression } from '../filter/expression';
import { client, expectData, inStore, type Schema } from './client';

export type Measure = Schema['Measure'];
export type Histogram = Schema['HistogramBins'];
/** The numbers of a group of traces. */
export type GroupNumbers = Schema['GroupNumbers'];
export type Aggregates = Schema['AggregateResponse'];

export interface AggregateRequest extends Omit<Schema['AggregateRequest'], 'filter'> {
  filter: Expression | null;
  store: string | null;
}

/** Returns measures of the traces that match. */
export function fetchAggregates({ store, ...body }: AggregateRequest, signal: AbortSignal): Promise<Aggregates> {
  return expectData(client.POST('/traces/aggregate', { params: { query: inStore(store) }, body, signal }));
}
