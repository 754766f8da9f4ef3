/** The columns of the list, in their order. */
import type { Sort, SortKey, TracePreview } from '../../../api/traces';

export interface Column {
  key: string;
  label: string;
  /** The field by which a click on its heading sorts. */
  sort?: SortKey;
  /** True if the column is right-aligned. */
  isNumber?: boolean;
  /** Always shown. */
  isFixed?: boolean;
}

export const COLUMNS: readonly Column[] = [
  { key: 'trace', label: 'Trace', isFixed: true },
  { key: 'component', label: 'Agent' },
  { key: 'session', label: 'Session' },
  { key: 'user', label: 'User' },
  { key: 'service', label: 'Service' },
  { key: 'start', label: 'Start', sort: 'start_time' },
  { key: 'duration', label: 'Duration', sort: 'duration_ms', isNumber: true },
  { key: 'spans', label: 'Spans', sort: 'total_spans', isNumber: true },
  { key: 'errors', label: 'Errors', sort: 'error_count', isNumber: true },
  { key: 'input', label: 'Tokens in', sort: 'input_tokens', isNumber: true },
  { key: 'output', label: 'Tokens out', sort: 'output_tokens', isNumber: true },
  { key: 'llm-calls', label: 'LLM calls', sort: 'llm_calls', isNumber: true },
  { key: 'tool-calls', label: 'Tool calls', sort: 'tool_calls', isNumber: true },
];

const SORT_KEYS: readonly string[] = COLUMNS.flatMap((column) => column.sort ?? []);

export const DEFAULT_SORT: Sort = { key: 'start_time', ascending: false };

/** Returns the order in an address, such as `-start_time`; the default if it is invalid. */
export function readSort(text: string | null): Sort {
  const ascending = !(text ?? '').startsWith('-');
  const key = (text ?? '').replace(/^-/, '');
  return SORT_KEYS.includes(key) ? { key: key as SortKey, ascending } : DEFAULT_SORT;
}

/** Returns an order for an address; null for the default. */
export function writeSort({ key, ascending }: Sort): string | null {
  const text = `${ascending ? '' : '-'}${key}`;
  return text === '-start_time' ? null : text;
}

/** Returns the order after a click on a heading: descending first, then ascending. */
export function nextSort(current: Sort, key: SortKey): Sort {
  return current.key === key ? { key, ascending: !current.ascending } : { key, ascending: false };
}

/** The component that a trace ran: its field and its id; the outermost if there are several. */
export function componentOf(trace: TracePreview): { key: string; kind: string; id: string } | null {
  if (trace.workflow_id) return { key: 'workflow_id', kind: 'workflow', id: trace.workflow_id };
  if (trace.team_id) return { key: 'team_id', kind: 'team', id: trace.team_id };
  return trace.agent_id ? { key: 'agent_id', kind: 'agent', id: trace.agent_id } : null;
}
