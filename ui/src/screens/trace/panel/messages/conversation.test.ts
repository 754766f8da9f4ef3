import { expect, test } from 'vitest';

import type { Message } from '../../../../api/trace';
import { openAtFirst, turnsOf } from './conversation';

const call = (id: string | null, name: string) => ({ ...(id === null ? {} : { id }), name, arguments: '{}' });
const result = (text: string, id?: string): Message => ({
  role: 'tool',
  text,
  ...(id === undefined ? {} : { tool_call_id: id }),
});
const asks = (...calls: ReturnType<typeof call>[]): Message => ({ role: 'assistant', text: '', tool_calls: calls });
const user: Message = { role: 'user', text: 'Where is my order?' };

test('results stand with the calls of their ids', () => {
  const turns = turnsOf({
    input: [user, asks(call('a', 'one'), call('b', 'two')), result('2', 'b'), result('1', 'a')],
  });
  expect(turns.map((turn) => turn.message.role)).toEqual(['user', 'assistant']);
  expect(turns[1]?.calls.map((each) => each.result?.message.text)).toEqual(['1', '2']);
  expect(turns[1]?.calls[0]?.result?.path).toBe('/messages/input/3');
});

test('without ids they stand with the calls in order', () => {
  const turns = turnsOf({ input: [asks(call(null, 'one'), call(null, 'two')), result('1'), result('2')] });
  expect(turns[0]?.calls.map((each) => each.result?.message.text)).toEqual(['1', '2']);
});

test('the same id twice belongs to one call each', () => {
  const turns = turnsOf({
    input: [asks(call('a', 'one')), result('1', 'a'), asks(call('a', 'one')), result('2', 'a')],
  });
  expect(turns.map((turn) => turn.calls[0]?.result?.message.text)).toEqual(['1', '2']);
});

test('a result without its call stands alone, and a call without a result says so', () => {
  const turns = turnsOf({ input: [result('?', 'x')], output: [asks(call('y', 'one'))] });
  expect(turns).toHaveLength(2);
  expect(turns[0]?.message.role).toBe('tool');
  expect(turns[1]?.calls[0]?.result).toBeNull();
});

test('no message is lost', () => {
  const input = [user, asks(call('a', 'one'), call(null, 'two')), result('1', 'a'), result('2'), result('3'), user];
  const turns = turnsOf({ input, output: [user] });
  const shown = turns.flatMap((turn) => [turn.path, ...turn.calls.flatMap((each) => each.result?.path ?? [])]);
  expect(shown.sort()).toEqual(
    [...input.keys()].map((at) => `/messages/input/${String(at)}`).concat('/messages/output/0'),
  );
});

test('the last of the input and the output are open', () => {
  const turns = turnsOf({ input: [{ role: 'system', text: 's' }, user, user], output: [user] });
  expect(turns.map((turn) => openAtFirst(turns).has(turn))).toEqual([false, false, true, true]);
});
