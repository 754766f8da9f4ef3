/** The messages of a call, with tool results next to their calls. */
import type { Conversation, Message, ToolCall } from '../../../../api/trace';

export interface CallWithResult {
  call: ToolCall;
  /** The message with the result; null if it is missing. */
  result: Placed | null;
}

/** A message and its path in the span: `/messages/input/2`. */
export interface Placed {
  message: Message;
  path: string;
}

export interface Turn extends Placed {
  side: 'input' | 'output';
  calls: CallWithResult[];
}

/**
 * Returns the messages in order, without tool results that are shown with their calls. A result belongs to the call
 * with its id. A result without an id belongs to the first earlier call that has neither an id nor a result.
 */
export function turnsOf(conversation: Conversation): Turn[] {
  const turns: Turn[] = [];
  const waiting: CallWithResult[] = [];
  for (const side of ['input', 'output'] as const) {
    (conversation[side] ?? []).forEach((message, index) => {
      const placed = { message, path: `/messages/${side}/${String(index)}` };
      const asked = message.role === 'tool' ? takeCall(waiting, message.tool_call_id) : null;
      if (asked !== null) {
        asked.result = placed;
        return;
      }
      const calls = (message.tool_calls ?? []).map((call): CallWithResult => ({ call, result: null }));
      waiting.push(...calls);
      turns.push({ ...placed, side, calls });
    });
  }
  return turns;
}

function takeCall(waiting: CallWithResult[], id: string | null | undefined): CallWithResult | null {
  const index = waiting.findIndex(({ call }) => ((id ?? '') === '' ? (call.id ?? null) === null : call.id === id));
  return index === -1 ? null : (waiting.splice(index, 1)[0] ?? null);
}

/** Returns the turns that are open at first: the last turn of the input, and the output. */
export function openAtFirst(turns: readonly Turn[]): Set<Turn> {
  const lastInput = turns.findLast((turn) => turn.side === 'input' && turn.message.role !== 'system');
  const open = turns.filter((turn) => turn.side === 'output');
  return new Set(lastInput === undefined ? open : [lastInput, ...open]);
}
