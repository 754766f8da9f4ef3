import { expect, test } from 'vitest';

import type { Expression } from './expression';
import { addAt, childrenOf, isFlat, nodeAt, readNode, replaceAt, stepsOf } from './tree';

const eq = (value: string): Expression => ({ op: 'EQ', key: 'name', value });
const not = (condition: Expression): Expression => ({ op: 'NOT', condition });
const TREE: Expression = {
  op: 'AND',
  conditions: [eq('a'), not({ op: 'OR', conditions: [eq('b'), not(eq('c'))] }), { op: 'OR', conditions: [eq('d')] }],
};
const SPAN = { op: 'SPAN', where: { op: 'EQ', key: 'tool_name', value: 'refund' } } as unknown as Expression;

function* places(node: Expression, steps: number[] = []): Generator<number[]> {
  yield steps;
  for (const [index, child] of childrenOf(node).entries()) yield* places(child, [...steps, index]);
}

test('a node put where it is changes nothing', () => {
  for (const steps of places(TREE)) expect(replaceAt(TREE, steps, nodeAt(TREE, steps))).toEqual(TREE);
});

test('a node put somewhere is there', () => {
  for (const steps of places(TREE)) expect(nodeAt(replaceAt(TREE, steps, SPAN), steps)).toEqual(SPAN);
});

test('no group is empty after a node is taken away', () => {
  for (const steps of places(TREE)) {
    const left = replaceAt(TREE, steps, null);
    expect(JSON.stringify(left)).not.toContain('"conditions":[]');
    if (steps.length === 0) expect(left).toBeNull();
  }
});

test('an added node stands last in its group, and every other one stays', () => {
  for (const steps of places(TREE)) {
    const added = addAt(TREE, steps, SPAN);
    const children = childrenOf(nodeAt(added, steps) as Expression);
    expect(children.at(-1)).toEqual(SPAN);
  }
  expect(addAt(null, [], SPAN)).toEqual(SPAN);
});

test.each([
  SPAN,
  { op: 'EQ', key: 'name', value: { deep: 1 } },
  { op: 'EQ', key: 'name', value: 'a', hint: 1 },
  { op: 'AND', conditions: [] },
  { op: 'AND', conditions: [eq('a')], name: 'mine' },
  { op: 'NOT', conditions: [eq('a'), eq('b')] },
  { op: 'IN', key: 'name', value: 'a' },
  { key: 'name' },
])('%j is shown as JSON only, and survives a change beside it', (unknown) => {
  const node = unknown as Expression;
  expect(readNode(node).kind).toBe('unknown');
  const tree: Expression = { op: 'OR', conditions: [node, eq('a')] };
  expect(nodeAt(replaceAt(tree, [1], eq('b')), [0])).toEqual(node);
});

test('both spellings of IN and of NOT are read', () => {
  const values = { kind: 'condition', values: ['a', 'b'] };
  expect(readNode({ op: 'IN', key: 'name', values: ['a', 'b'] })).toMatchObject(values);
  expect(readNode({ op: 'IN', key: 'name', value: ['a', 'b'] })).toMatchObject(values);
  expect(childrenOf({ op: 'NOT', conditions: [eq('a')] } as unknown as Expression)).toEqual([eq('a')]);
});

test.each([
  [null, true],
  [eq('a'), true],
  [not(eq('a')), true],
  [{ op: 'AND', conditions: [eq('a'), not(eq('b'))] }, true],
  [{ op: 'OR', conditions: [eq('a')] }, false],
  [not(not(eq('a'))), false],
  [SPAN, false],
  [TREE, false],
] as [Expression | null, boolean][])('%j is flat: %s', (tree, flat) => {
  expect(isFlat(tree)).toBe(flat);
});

test.each([
  ['$', []],
  ['$.op', []],
  ['$.conditions[1].value', [1]],
  ['$.conditions[1].condition.conditions[0].key', [1, 0, 0]],
  ['$.condition', [0]],
  ['$.conditions[1].where.conditions[0].key', [1]],
])('the node of %s is %j', (path, steps) => {
  expect(stepsOf(path)).toEqual(steps);
});
