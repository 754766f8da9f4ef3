/** Server-sent events over `fetch`, which unlike `EventSource` sends a token and a body. */
import { EventSourceParserStream, type EventSourceMessage } from 'eventsource-parser/stream';

import { fetchSigned, serviceUrl } from './client';
import { ApiError } from './error';

export type StreamEvent = EventSourceMessage;

/**
 * Yields the events of a stream until it ends or `signal` aborts it.
 *
 * @param path the path below the service, without a slash at its beginning.
 * @throws ApiError the service refused the request, or the connection broke.
 */
export async function* events(path: string, init: RequestInit, signal: AbortSignal): AsyncGenerator<StreamEvent> {
  const response = await fetchSigned(new Request(new URL(path, serviceUrl), { ...init, signal }));
  if (!response.ok || response.body === null) {
    throw ApiError.of(response.status, await response.json().catch(() => null));
  }
  const decoded = response.body
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array<ArrayBuffer>>)
    .pipeThrough(new EventSourceParserStream());
  const reader = decoded.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } catch (error) {
    if (signal.aborted) return;
    throw error instanceof ApiError ? error : new ApiError(0, 'UNREACHABLE', 'The stream broke off.');
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
