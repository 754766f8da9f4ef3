/** The fields that traces can be filtered by, and their values in one trace and in one of its spans. */
import type { TraceHead } from '../../../api/trace';
import type { Spans } from './spans';

export const FIELDS = ['agent_id', 'team_id', 'workflow_id', 'session_id', 'user_id', 'run_id', 'name'] as const;

/** Returns the field of which a trace has this value; null if there is none. */
export function fieldOf(head: TraceHead, value: unknown): string | null {
  if (typeof value !== 'string' || value === '') return null;
  return FIELDS.find((field) => head[field] === value) ?? null;
}

export interface SpanValue {
  /** The key of the field, inside of `SPAN`. */
  field: 'name' | 'tool_name' | 'model';
  label: string;
  value: string;
}

/** A longer value makes no link: addresses are limited. In UTF-16 code units. */
const LONGEST = 300;

/** Returns what other traces may have a span like: its name, its tool and its model, as far as it has them. */
export function valuesOfSpan(spans: Spans, span: number): SpanValue[] {
  const values = [
    { field: 'name', label: 'Name', value: spans.name.at(span) },
    { field: 'tool_name', label: 'Tool', value: spans.tool.at(span) },
    { field: 'model', label: 'Model', value: spans.model.at(span) },
  ] as const;
  return values.flatMap(({ value, ...field }) => (value && value.length <= LONGEST ? [{ ...field, value }] : []));
}
