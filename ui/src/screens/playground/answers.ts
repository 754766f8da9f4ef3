/** Answers to what a paused run waits for: a requirement or tool call that is sent back with the decision in it. */

export interface Decision {
  approved: boolean;
  /** Why not, or what else to know; empty for nothing. */
  note: string;
}

/**
 * Returns the answer to one requirement, in every spelling that components read: `confirmation` of our own and of
 * teams, `confirmed` of tool calls, also of those that are nested in it.
 */
export function answer(requirement: Record<string, unknown>, decision: Decision): Record<string, unknown> {
  const { approved, note } = decision;
  const decided = { confirmed: approved, confirmation: approved, ...(note === '' ? {} : { confirmation_note: note }) };
  const answered: Record<string, unknown> = { ...requirement, ...decided };
  const tool = requirement['tool_execution'];
  if (isObject(tool)) answered['tool_execution'] = { ...tool, ...decided };
  const inner = requirement['executor_requirements'];
  if (Array.isArray(inner)) {
    answered['executor_requirements'] = inner.map((each: unknown) => (isObject(each) ? answer(each, decision) : each));
  }
  return answered;
}

/** Returns what a requirement asks, in a few words, and the details to decide by. */
export function question(requirement: Record<string, unknown>): {
  asks: string;
  details: Record<string, unknown> | null;
} {
  const tool = isObject(requirement['tool_execution']) ? requirement['tool_execution'] : requirement;
  if (typeof requirement['question'] === 'string') return { asks: requirement['question'], details: null };
  if (typeof tool['tool_name'] === 'string') {
    return { asks: `Call ${tool['tool_name']}?`, details: isObject(tool['tool_args']) ? tool['tool_args'] : null };
  }
  if (typeof requirement['step_name'] === 'string') {
    return { asks: `Go on with the step ${requirement['step_name']}?`, details: null };
  }
  return { asks: 'Go on?', details: requirement };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
