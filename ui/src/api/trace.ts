/** One trace: its columns, one of its spans, and a long value in parts. */
import { client, expectData, inStore, serviceUrl, type Schema } from './client';
import type { paths } from './schema';

export type CodedColumn = Schema['CodedColumn'];
export type SpanColumns = Schema['SpanColumns'];
export type TraceHead = Schema['TracePreview'];
export type TraceSkeleton = Schema['TraceSkeleton'];
export type SpanDetail = Schema['SpanDetail'];
export type Conversation = Schema['Conversation'];
export type Message = Schema['ConversationMessage'];
export type ToolCall = Schema['ToolCall'];
export type ValuePage = Schema['ValuePage'];

/** The address of a trace: its id and its store; null for the default store. */
export interface TraceAddress {
  id: string;
  store: string | null;
}

/** The number of bytes of a long value that are read at once. */
export const PART_BYTES = 65_536;

type Query = NonNullable<paths['/traces/{trace_id}']['get']['parameters']['query']>;

/** Returns the trace in the form that the query selects. */
async function get<T>({ id, store }: TraceAddress, query: Query, signal: AbortSignal): Promise<T> {
  const params = { path: { trace_id: id }, query: { ...query, ...inStore(store) } };
  return (await expectData(client.GET('/traces/{trace_id}', { params, signal }))) as T;
}

/** Returns a trace without the texts of its spans. */
export function fetchSkeleton(trace: TraceAddress, signal: AbortSignal): Promise<TraceSkeleton> {
  return get(trace, { detail: 'skeleton' }, signal);
}

/** Returns a span with its long values truncated. */
export function fetchSpan(trace: TraceAddress, span: string, signal: AbortSignal): Promise<SpanDetail> {
  return get(trace, { span_id: span, max_bytes: PART_BYTES }, signal);
}

/** Returns the part of a long value that begins at byte `from`. */
export function fetchPart(
  trace: TraceAddress,
  span: string,
  value: { path: string; from: number },
  signal: AbortSignal,
): Promise<ValuePage> {
  return get(trace, { span_id: span, ...value, max_bytes: PART_BYTES }, signal);
}

/** Returns the whole trace, for a download. */
export function fetchWhole(trace: TraceAddress, signal: AbortSignal): Promise<Schema['TraceDetail']> {
  return get(trace, {}, signal);
}

/** Returns the address of the whole trace at the service. */
export function traceUrl({ id, store }: TraceAddress): string {
  const url = new URL(`traces/${encodeURIComponent(id)}`, serviceUrl);
  if (store !== null) url.searchParams.set('db_id', store);
  return url.href;
}
