/** Answers to the requirements of a paused run. A requirement or tool call is sent back with the decision. */

export interface Decision {
  approved: boolean;
  /** The reason or a further note; may be empty. */
  note: string;
}

/**
 * Returns the answer to one requirement in all spellings that components read: `confirmation` for our components and
 * teams, `confirmed` for tool calls, including nested ones.
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

/** Returns the question of a requirement and the details for the decision. */
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
