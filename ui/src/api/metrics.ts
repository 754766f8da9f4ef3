/** The metrics of the service. */
import { client, expectData, fetchSigned, serviceUrl } from './client';
import { ApiError } from './error';
import { parseMetrics, type Metrics } from './prometheus';

export type { Metrics };

/** Returns the metrics of the service. */
export async function fetchMetrics(signal: AbortSignal): Promise<Metrics> {
  const response = await fetchSigned(new Request(new URL('metrics', serviceUrl), { signal }));
  if (!response.ok) throw ApiError.of(response.status, await response.json().catch(() => null));
  return parseMetrics(await response.text());
}

/** The readiness and the start time of the service, or the reason why it is not ready. */
export async function fetchReadiness(
  signal: AbortSignal,
): Promise<{ ready: boolean; since: string | null; why: string }> {
  try {
    const health = await expectData(client.GET('/health', { params: { query: { ready: 'true' } }, signal }));
    return { ready: true, since: health.instantiated_at, why: '' };
  } catch (error) {
    if (error instanceof ApiError && error.status === 503) return { ready: false, since: null, why: error.message };
    throw error;
  }
}
