/** Sessions: the traces of one conversation, by their session id and user. */
import { all, valueIs, type Expression } from '../filter/expression';
import { client, expectData, inStore, type Schema } from './client';

export type Session = Schema['TraceSessionStats'];
export type Turn = Schema['TraceDetail'];
export type TurnSummary = Schema['TracePreview'];
export type Meta = Schema['PaginationInfo'];

export interface Page<T> {
  data: T[];
  meta: Meta;
}

/** The key of a session: its id and its user. An undefined user means any user, null means a session without a user. */
export interface SessionKey {
  id: string;
  user?: string | null;
}

/** Options of a search: the trace store (null for the default) and the signal that cancels it. */
export interface SearchOptions {
  store: string | null;
  signal: AbortSignal;
}

/** Returns a page of sessions with matching traces. The session with the newest trace comes first. */
export function searchSessions(filter: Expression | null, page: number, limit: number, options: SearchOptions) {
  return search<Session>({ filter, page, limit, group_by: 'session' }, options);
}

/** Returns a page of the traces of a session with their trees, oldest first. */
export function sessionTurns(session: SessionKey, page: number, limit: number, options: SearchOptions) {
  return search<Turn>({ ...turnsOf(session), page, limit, detail: 'full' }, options);
}

/** Returns a page of the traces of a session with their counts, oldest first. */
export function sessionSummaries(session: SessionKey, page: number, limit: number, options: SearchOptions) {
  return search<TurnSummary>({ ...turnsOf(session), page, limit, detail: 'summary' }, options);
}

function turnsOf({ id, user }: SessionKey) {
  const filter = all(valueIs('session_id', id), user === undefined ? null : valueIs('user_id', user));
  return { filter, sort: { key: 'start_time', ascending: true } };
}

async function search<T>(body: Record<string, unknown>, { store, signal }: SearchOptions): Promise<Page<T>> {
  const answer = await expectData(client.POST('/traces/search', { params: { query: inStore(store) }, body, signal }));
  return answer as Page<T>;
}
