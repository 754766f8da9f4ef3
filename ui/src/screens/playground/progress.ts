import type { RunEvent } from '../../api/runs';

export type RunStatus = 'running' | 'completed' | 'paused' | 'failed' | 'cancelled';

/** A tool call, a member of a team or a step of a workflow. */
export interface Activity {
  key: string;
  label: string;
  type: 'TOOL' | 'AGENT' | 'STEP';
  state: 'running' | 'done' | 'failed';
  /** The input or output as text. */
  input: string | null;
  output: string | null;
}

/** The state of a run after the events so far. */
export interface Progress {
  run: string | null;
  session: string | null;
  status: RunStatus;
  /** The output so far. */
  text: string;
  activities: Activity[];
  /** The requirements of a paused run. */
  waiting: Record<string, unknown>[];
  traceId: string | null;
  /** Why the run failed or was cancelled. */
  reason: string | null;
  lastIndex: number | null;
}

export const NOTHING: Progress = {
  run: null,
  session: null,
  status: 'running',
  text: '',
  activities: [],
  waiting: [],
  traceId: null,
  reason: null,
  lastIndex: null,
};

/** Returns the state after one more event. A repeated event changes nothing. */
export function advance(progress: Progress, event: RunEvent): Progress {
  if (progress.lastIndex !== null && event.event_index <= progress.lastIndex) return progress;
  const isRoot = event.nested_depth === 0;
  const known: Progress = {
    ...progress,
    run: progress.run ?? (isRoot ? event.run_id : null),
    session: progress.session ?? textOrNull(event['session_id']),
    lastIndex: event.event_index,
  };
  const name = event.event.replace(/^(Team)?Run/, '').replace(/^Workflow(?=[A-Z])/, '');
  const activities = activitiesAfter(known.activities, event, name, isRoot);
  if (!isRoot || event.event.startsWith('Step')) return { ...known, activities };
  return { ...known, activities, ...rootChange(known, event, name) };
}

function rootChange(progress: Progress, event: RunEvent, name: string): Partial<Progress> {
  const traceId = textOrNull((event['metadata'] as { trace_id?: unknown } | undefined)?.trace_id) ?? progress.traceId;
  switch (name) {
    case 'Started':
    case 'Continued':
      return { status: 'running', waiting: [], reason: null };
    case 'Content':
      return { text: progress.text + textOf(event['content']) };
    case 'Completed':
      return { status: 'completed', text: textOf(event['content']) || progress.text, traceId };
    case 'Paused':
      return { status: 'paused', waiting: waitingOf(event), traceId };
    case 'Error':
      return { status: 'failed', reason: textOf(event['error'] ?? event['content']), traceId };
    case 'Cancelled':
      return { status: 'cancelled', reason: textOf(event['reason']), traceId };
    default:
      return {};
  }
}

function waitingOf(event: RunEvent): Record<string, unknown>[] {
  const tools = listOf(event['tools']).filter(
    (tool) => tool['requires_confirmation'] === true || tool['external_execution_required'] === true,
  );
  if (tools.length > 0) return tools;
  const required = listOf(event['step_requirements'] ?? event['requirements']);
  return required.length > 0 ? required : listOf(event['tools']);
}

function activitiesAfter(activities: Activity[], event: RunEvent, name: string, isRoot: boolean): Activity[] {
  if (event.event.startsWith('ToolCall')) return withTool(activities, event);
  if (event.event.startsWith('Step')) return withStep(activities, event);
  if (isRoot) return activities;
  const label = textOf(event['agent_name'] ?? event['team_name'] ?? event['workflow_name'] ?? event.run_id);
  const found = activities.find((activity) => activity.key === event.run_id);
  const base: Activity = found ?? {
    key: event.run_id,
    label,
    type: 'AGENT',
    state: 'running',
    input: null,
    output: null,
  };
  if (name === 'Content')
    return replaced(activities, { ...base, output: (base.output ?? '') + textOf(event['content']) });
  if (name === 'Completed') {
    return replaced(activities, { ...base, state: 'done', output: textOf(event['content']) || base.output });
  }
  if (name === 'Error' || name === 'Cancelled') return replaced(activities, { ...base, state: 'failed' });
  return replaced(activities, base);
}

function withTool(activities: Activity[], event: RunEvent): Activity[] {
  const tool = (event['tool'] ?? {}) as Record<string, unknown>;
  const key = textOrNull(tool['tool_call_id']) ?? `${event.run_id} ${textOf(tool['tool_name'])}`;
  const failed = event.event === 'ToolCallError' || tool['tool_call_error'] === true;
  return replaced(activities, {
    key,
    label: textOf(tool['tool_name']) || 'tool',
    type: 'TOOL',
    state: failed ? 'failed' : event.event === 'ToolCallStarted' ? 'running' : 'done',
    input: tool['tool_args'] === undefined ? null : textOf(tool['tool_args']),
    output: event['error'] === undefined ? textOrEmpty(tool['result']) : textOf(event['error']),
  });
}

function withStep(activities: Activity[], event: RunEvent): Activity[] {
  const states = { StepCompleted: 'done', StepError: 'failed' } as Record<string, Activity['state']>;
  return replaced(activities, {
    key: `step ${textOf(event['step_id'] ?? event['step_name'])}`,
    label: textOf(event['step_name']) || 'step',
    type: 'STEP',
    state: states[event.event] ?? 'running',
    input: null,
    output: textOrEmpty(event['error'] ?? event['content']),
  });
}

function replaced(activities: Activity[], activity: Activity): Activity[] {
  const isKnown = activities.some((each) => each.key === activity.key);
  return isKnown ? activities.map((each) => (each.key === activity.key ? activity : each)) : [...activities, activity];
}

function listOf(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? (value as Record<string, unknown>[]) : [];
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function textOrEmpty(value: unknown): string | null {
  return value === undefined || value === null ? null : textOf(value);
}

/** Returns a text unchanged, and any other value as JSON. */
export function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}
