import { expect, test } from 'vitest';

import type { RunEvent } from '../../api/runs';
import { answer, question } from './answers';
import { advance, NOTHING, type Progress } from './progress';

let index = 0;
const event = (name: string, more: Record<string, unknown> = {}): RunEvent => ({
  event: name,
  event_index: index++,
  run_id: 'run',
  session_id: 'session',
  nested_depth: 0,
  ...more,
});
const play = (events: RunEvent[], from: Progress = NOTHING) => events.reduce(advance, from);

test('an agent that streams', () => {
  const events = [
    event('RunStarted'),
    event('RunContent', { content: 'Hello, ' }),
    event('ToolCallStarted', { tool: { tool_call_id: '1', tool_name: 'find', tool_args: { a: 1 } } }),
    event('ToolCallCompleted', { tool: { tool_call_id: '1', tool_name: 'find', tool_args: { a: 1 }, result: 'no' } }),
    event('RunContent', { content: 'Ann' }),
    event('RunCompleted', { content: 'Hello, Ann', metadata: { trace_id: 't' } }),
  ];
  const progress = play(events);
  expect(progress).toMatchObject({
    run: 'run',
    session: 'session',
    status: 'completed',
    text: 'Hello, Ann',
    traceId: 't',
  });
  expect(progress.activities).toEqual([
    { key: '1', label: 'find', type: 'TOOL', state: 'done', input: '{\n  "a": 1\n}', output: 'no' },
  ]);
  expect(play(events, progress)).toEqual(progress);
});

test('members and steps are activities; their answers are not the answer', () => {
  const member = { run_id: 'member', nested_depth: 1, agent_name: 'Guide' };
  const progress = play([
    event('TeamRunStarted'),
    event('RunStarted', member),
    event('RunContent', { ...member, content: 'windy' }),
    event('RunCompleted', { ...member, content: 'windy' }),
    event('StepStarted', { step_id: 's', step_name: 'check' }),
    event('StepError', { step_id: 's', step_name: 'check', error: 'broke' }),
    event('TeamRunContent', { content: 'It is windy.' }),
  ]);
  expect(progress.text).toBe('It is windy.');
  expect(progress.activities.map(({ label, state, output }) => [label, state, output])).toEqual([
    ['Guide', 'done', 'windy'],
    ['check', 'failed', 'broke'],
  ]);
});

test('a paused run waits, and goes on when it is continued', () => {
  const paused = play([event('RunStarted'), event('RunPaused', { requirements: [{ question: 'Refund 5?' }] })]);
  expect(paused).toMatchObject({ status: 'paused', waiting: [{ question: 'Refund 5?' }] });
  const done = play([event('RunContinued'), event('RunCompleted', { content: 'refunded' })], paused);
  expect(done).toMatchObject({ status: 'completed', waiting: [], text: 'refunded' });
});

test.each(['RunError', 'TeamRunError', 'WorkflowError'])('%s is a failure with its reason', (name) => {
  expect(play([event(name, { content: 'it broke' })])).toMatchObject({ status: 'failed', reason: 'it broke' });
});

test('an answer carries the decision wherever it is read', () => {
  const tool = { tool_name: 'refund', tool_args: { amount: 5 }, requires_confirmation: true };
  expect(question(tool)).toEqual({ asks: 'Call refund?', details: { amount: 5 } });
  expect(answer(tool, { approved: false, note: 'too much' })).toEqual({
    ...tool,
    confirmed: false,
    confirmation: false,
    confirmation_note: 'too much',
  });
  const nested = { executor_requirements: [{ tool_execution: tool }] };
  const answered = answer(nested, { approved: true, note: '' }) as typeof nested;
  expect(answered.executor_requirements[0]?.tool_execution).toMatchObject({ confirmed: true, tool_name: 'refund' });
});
