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

/** Which session: its id and its user. A user of undefined is any; null is a session without one. */
export interface SessionKey {
  id: string;
  user?: string | null;
}

/** How a search is addressed: the trace store, or the default one for null, and what gives it up. */
export interface Asked {
  store: string | null;
  signal: AbortSignal;
}

/** Returns a page of sessions whose traces match a filter, those with the latest trace first. */
export function searchSessions(filter: Expression | null, page: number, limit: number, asked: Asked) {
  return search<Session>({ filter, page, limit, group_by: 'session' }, asked);
}

/** Returns a page of the traces of a session, the oldest first, with their trees. */
export function sessionTurns(session: SessionKey, page: number, limit: number, asked: Asked) {
  return search<Turn>({ ...turnsOf(session), page, limit, detail: 'full' }, asked);
}

/** Returns a page of the traces of a session, the oldest first, with their counts. */
export function sessionSummaries(session: SessionKey, page: number, limit: number, asked: Asked) {
  return search<TurnSummary>({ ...turnsOf(session), page, limit, detail: 'summary' }, asked);
}

function turnsOf({ id, user }: SessionKey) {
  const filter = all(valueIs('session_id', id), user === undefined ? null : valueIs('user_id', user));
  return { filter, sort: { key: 'start_time', ascending: true } };
}

async function search<T>(body: Record<string, unknown>, { store, signal }: Asked): Promise<Page<T>> {
  const answer = await expectData(client.POST('/traces/search', { params: { query: inStore(store) }, body, signal }));
  return answer as Page<T>;
}
