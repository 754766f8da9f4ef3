/** The fields of a trace that traces can be filtered by, and their values in one trace. */
import type { TraceHead } from '../../../api/trace';

export const FIELDS = ['agent_id', 'team_id', 'workflow_id', 'session_id', 'user_id', 'run_id', 'name'] as const;

/** Returns the field of which a trace has this value; null if there is none. */
export function fieldOf(head: TraceHead, value: unknown): string | null {
  if (typeof value !== 'string' || value === '') return null;
  return FIELDS.find((field) => head[field] === value) ?? null;
}
