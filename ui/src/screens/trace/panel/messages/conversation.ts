/** Messages of a call, with the results of tools beside the calls that asked for them. */
import type { Conversation, Message, ToolCall } from '../../../../api/trace';

export interface CallWithResult {
  call: ToolCall;
  /** The message that has the result; null if there is none. */
  result: Placed | null;
}

/** A message, and where it is in the span: `/messages/input/2`. */
export interface Placed {
  message: Message;
  path: string;
}

export interface Turn extends Placed {
  side: 'input' | 'output';
  calls: CallWithResult[];
}

/**
 * Returns the messages in order, without results of tools that stand with their calls. A result belongs to the call of
 * its id; one without an id to the first call before it that has neither an id nor a result.
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

/** Returns the turns that are open at first: the last of the input, and the output. */
export function openAtFirst(turns: readonly Turn[]): Set<Turn> {
  const lastInput = turns.findLast((turn) => turn.side === 'input' && turn.message.role !== 'system');
  const open = turns.filter((turn) => turn.side === 'output');
  return new Set(lastInput === undefined ? open : [lastInput, ...open]);
}
