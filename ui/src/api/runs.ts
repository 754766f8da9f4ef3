/** Runs of components: docs/reference/api-runs.md#run-routes. */
import { fetchSigned, serviceUrl } from './client';
import type { Kind } from './components';
import { ApiError } from './error';
import { events } from './stream';

/** An event of a run. Members beyond these depend on its name. */
export type RunEvent = { event: string; event_index: number; run_id: string; nested_depth: number } & Record<
  string,
  unknown
>;

/** The id of a run and of its component. */
export interface RunKey {
  kind: Kind;
  component: string;
  run: string;
}

/** Starts a run and yields its events. The run continues when `signal` is aborted. */
export function startRun(kind: Kind, component: string, form: Record<string, string>, signal: AbortSignal) {
  return runEvents(`${pathOf(kind, component)}/runs`, form, signal);
}

/** Yields the events of a run after the one with the index `after`, or all of them for null. */
export function resumeRun(key: RunKey, after: number | null, signal: AbortSignal) {
  const form: Record<string, string> = after === null ? {} : { last_event_index: String(after) };
  return runEvents(`${pathOf(key.kind, key.component, key.run)}/resume`, form, signal);
}

/** Answers the requirements of a paused run and yields the events that follow. */
export function continueRun(key: RunKey, answers: unknown[], form: Record<string, string>, signal: AbortSignal) {
  const field = { agents: 'tools', teams: 'requirements', workflows: 'step_requirements' }[key.kind];
  const answered = { ...form, [field]: JSON.stringify(answers) };
  return runEvents(`${pathOf(key.kind, key.component, key.run)}/continue`, answered, signal);
}

/** Ends a run at once. */
export async function cancelRun(key: RunKey): Promise<void> {
  const path = `${pathOf(key.kind, key.component, key.run)}/cancel`;
  const response = await fetchSigned(new Request(new URL(path, serviceUrl), { method: 'POST' }));
  if (!response.ok) throw ApiError.of(response.status, await response.json().catch(() => null));
}

async function* runEvents(path: string, form: Record<string, string>, signal: AbortSignal): AsyncGenerator<RunEvent> {
  const body = new URLSearchParams({ ...form, stream: 'true' });
  for await (const event of events(path, { method: 'POST', body }, signal)) {
    const data = JSON.parse(event.data) as Record<string, unknown>;
    if (typeof data['event_index'] === 'number') yield data as RunEvent;
  }
}

function pathOf(kind: Kind, component: string, run?: string): string {
  const base = `${kind}/${encodeURIComponent(component)}`;
  return run === undefined ? base : `${base}/runs/${encodeURIComponent(run)}`;
}
