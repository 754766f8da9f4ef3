/** Traces as they arrive: docs/reference/api-search.md#tail. */
import type { Expression } from '../filter/expression';
import type { Schema } from './client';
import { events } from './stream';

export type TailTrace = Schema['TailTrace'];

type Body = Omit<Schema['TailRequest'], 'filter'> & { filter: Expression | null };

export type TailEvent =
  | ({ kind: 'started'; id: string } & Schema['TailStarted'])
  | { kind: 'trace'; id: string; trace: TailTrace }
  | ({ kind: 'dropped'; id: string } & Schema['TailDropped'])
  | { kind: 'gap'; id: string }
  | ({ kind: 'end' } & Schema['TailEnd']);

/**
 * Yields the traces that match a filter from now on, or from the position `after`.
 *
 * @throws ApiError the service refused the request, or the connection broke.
 */
export async function* tail(
  request: { filter: Expression | null; store: string | null; after: string | null },
  signal: AbortSignal,
): AsyncGenerator<TailEvent> {
  const headers = new Headers({ 'Content-Type': 'application/json' });
  if (request.after !== null) headers.set('Last-Event-ID', request.after);
  const query = request.store === null ? '' : `?db_id=${encodeURIComponent(request.store)}`;
  const body = JSON.stringify({ filter: request.filter, detail: 'summary' } satisfies Body);
  for await (const event of events(`traces/tail${query}`, { method: 'POST', headers, body }, signal)) {
    const decoded = decode(event.event ?? '', event.id ?? '', JSON.parse(event.data));
    if (decoded !== null) yield decoded;
  }
}

function decode(name: string, id: string, data: unknown): TailEvent | null {
  switch (name) {
    case 'started':
      return { kind: name, id, ...(data as Schema['TailStarted']) };
    case 'trace':
      return { kind: name, id, trace: data as TailTrace };
    case 'dropped':
      return { kind: name, id, ...(data as Schema['TailDropped']) };
    case 'gap':
      return { kind: name, id };
    case 'end':
      return { kind: name, ...(data as Schema['TailEnd']) };
    default:
      return null;
  }
}
