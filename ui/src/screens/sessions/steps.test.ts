import { expect, test } from 'vitest';

import type { Schema } from '../../api/client';
import { stepsOf } from './steps';

type Node = Schema['TraceNode'];

const times = { start_time: '2026-11-22T10:00:00.000100Z', end_time: '2026-11-22T10:00:01.500600Z' };
const node = (id: string, type: string, spans: Node[] = [], status = 'OK') =>
  ({ id, name: `${id}.run`, type, status, ...times, spans }) as unknown as Node;

test('steps are the tools and agents below the root, in order', () => {
  const tree = [
    node('root', 'AGENT', [
      node('llm', 'LLM', [node('inner', 'TOOL')]),
      node('search', 'TOOL', [], 'ERROR'),
      node('helper', 'AGENT', [node('chain', 'CHAIN', [node('deep', 'TOOL')])]),
    ]),
  ];
  const { steps, more } = stepsOf(tree, 10);
  expect(steps.map((step) => step.id)).toEqual(['inner', 'search', 'helper', 'deep']);
  expect(steps.map((step) => step.failed)).toEqual([false, true, false, false]);
  expect(steps[0]?.duration).toBeCloseTo(1500.5);
  expect(more).toBe(0);
  expect(stepsOf(tree, 3)).toEqual({ steps: steps.slice(0, 3), more: 1 });
});

test('a deep tree does not overflow the stack', () => {
  let deep = node('end', 'TOOL');
  for (let depth = 0; depth < 50_000; depth += 1) deep = node(String(depth), 'CHAIN', [deep]);
  expect(stepsOf([deep], 5).steps.map((step) => step.id)).toEqual(['end']);
});
