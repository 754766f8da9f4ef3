import { describe, expect, test } from 'vitest';

import { FEWEST_EQUAL, isRun, Outline, runKey, spanOf } from './outline';
import { extent, nextOf, Opened, Rows, runMembers } from './rows';
import { keySpans, shownSpans, withAncestors } from './shown';
import { drawing } from '../../../testing/drawing';
import { randomSpans, spansOf } from './testing/random-spans';

const SEEDS = Array.from({ length: 40 }, (_, seed) => seed + 1);
const everything = (count: number) => new Uint8Array(count).fill(1);

describe.each(SEEDS)('laws of an outline, seed %d', (seed) => {
  const spans = randomSpans(seed);
  const draw = drawing(seed + 1000);
  const shown = everything(spans.count).map(() => (draw(3) > 0 ? 1 : 0));
  const plain = new Outline(spans, shown, false);
  const folded = new Outline(spans, shown, true);

  test('every shown span has one node, in order', () => {
    for (const outline of [plain, folded]) {
      const keys = [...outline.keys].filter((key) => !isRun(key));
      expect(keys).toEqual([...shown.keys()].filter((span) => shown[span] === 1));
      keys.forEach((span) => expect(outline.keys[outline.nodeOf[span] ?? -1]).toBe(span));
    }
  });

  test('the parent of a node is the nearest shown span above it, or a run within that', () => {
    for (const span of [...plain.keys]) {
      let above = spans.parent[span] ?? -1;
      while (above !== -1 && shown[above] === 0) above = spans.parent[above] ?? -1;
      expect(plain.keys[plain.parent[plain.nodeOf[span] ?? -1] ?? -1] ?? -1).toBe(above);
      let node = folded.parent[folded.nodeOf[span] ?? -1] ?? -1;
      if (node !== -1 && isRun(folded.keys[node] ?? 0)) node = folded.parent[node] ?? -1;
      expect(folded.keys[node] ?? -1).toBe(above);
    }
  });

  test('levels, sizes, positions and numbers of siblings agree with the parents', () => {
    for (const outline of [plain, folded]) {
      const siblingsOf = (parent: number) =>
        [...outline.parent.keys()].filter((each) => outline.parent[each] === parent);
      for (let node = 0; node < outline.count; node += 1) {
        const parent = outline.parent[node] ?? -1;
        const siblings = siblingsOf(parent);
        expect(outline.level[node]).toBe(parent === -1 ? 1 : (outline.level[parent] ?? 0) + 1);
        expect(outline.siblings[node]).toBe(siblings.length);
        expect(outline.position[node]).toBe(siblings.indexOf(node) + 1);
        const below = siblingsOf(node).reduce((sum, child) => sum + (outline.size[child] ?? 0), 1);
        expect(outline.size[node]).toBe(below);
      }
    }
  });

  test('a run has equal members without errors, at least the fewest, and is the longest possible', () => {
    folded.keys.forEach((key, node) => {
      if (!isRun(key)) return;
      const members = runMembers(folded, node);
      expect(members[0]).toBe(spanOf(key));
      expect(members).toHaveLength(folded.length[node] ?? 0);
      expect(members.length).toBeGreaterThanOrEqual(FEWEST_EQUAL);
      expect(new Set(members.map((span) => `${String(spans.name.at(span))} ${String(spans.type.at(span))}`)).size).toBe(
        1,
      );
      expect(members.every((span) => spans.failing[span] === 0)).toBe(true);
      const { from, to } = extent(spans, folded, node);
      expect(from).toBe(Math.min(...members.map((span) => spans.start[span] ?? 0)));
      expect(to).toBe(Math.max(...members.map((span) => spans.end[span] ?? 0)));
    });
  });

  test('rows are the nodes below open ones only', () => {
    const opened = new Opened(spans.count);
    folded.keys.forEach((key) => opened.set(key, draw(2) === 0));
    const rows = new Rows(folded, opened);
    const expected = [...folded.keys.keys()].filter((node) => {
      for (let above = folded.parent[node] ?? -1; above !== -1; above = folded.parent[above] ?? -1) {
        if (!opened.has(folded.keys[above] ?? 0)) return false;
      }
      return true;
    });
    expect([...rows.nodes]).toEqual(expected);
    folded.keys.forEach((_, node) => expect(rows.rowOf[node]).toBe(expected.indexOf(node)));
  });

  test('what is revealed has a row', () => {
    const opened = new Opened(spans.count);
    opened.setAll(false);
    const node = draw(folded.count);
    const wasHidden = new Rows(folded, opened).rowOf[node] === -1;
    expect(opened.reveal(folded, node)).toBe(wasHidden);
    expect(new Rows(folded, opened).rowOf[node]).not.toBe(-1);
  });

  test('matches are shown even if hidden, and on request only matches with their ancestors', () => {
    const matches = everything(spans.count).map(() => (draw(6) === 0 ? 1 : 0));
    const key = keySpans(spans);
    const near = withAncestors(spans, matches);
    const some = shownSpans(spans, key, { keyOnly: true, matches, matchesOnly: false, pinned: -1 });
    const only = shownSpans(spans, key, { keyOnly: false, matches, matchesOnly: true, pinned: -1 });
    some.forEach((mark, span) => expect(mark).toBe((key[span] ?? 0) | (matches[span] ?? 0)));
    expect(only).toEqual(near);
    near.forEach((mark, span) => {
      const below = [...matches.keys()].filter((each) => each >= span && each < span + (spans.size[span] ?? 0));
      expect(mark).toBe(below.some((each) => matches[each] === 1) ? 1 : 0);
    });
  });
});

test('three equal siblings become one node with three children', () => {
  const spans = spansOf({ parent: [-1, 0, 0, 0, 0], name: ['run', 'embed', 'embed', 'embed', 'chat'] });
  const outline = new Outline(spans, everything(5), true);
  expect([...outline.keys]).toEqual([0, runKey(1), 1, 2, 3, 4]);
  expect([...outline.level]).toEqual([1, 2, 3, 3, 3, 2]);
  expect(outline.length[1]).toBe(3);
  expect(outline.find(runKey(1))).toBe(1);
  expect(new Outline(spans, everything(5), false).find(runKey(1))).toBe(1);
  expect([...new Rows(outline, new Opened(5)).nodes]).toEqual([0, 1, 5]);
});

test('an error keeps its siblings from being folded with it', () => {
  const spans = spansOf({ parent: [-1, 0, 0, 0, 3], error: [null, null, null, null, 'failed'] });
  expect([...new Outline(spans, everything(5), true).keys].some(isRun)).toBe(false);
});

test('a failed step of a framework is key', () => {
  const spans = spansOf({ parent: [-1, 0, 0], type: ['CHAIN', 'CHAIN', 'TOOL'], error: [null, 'failed', null] });
  expect([...keySpans(spans)]).toEqual([0, 1, 1]);
});

test('a depth of 100,000 is no problem', () => {
  const parent = Array.from({ length: 100_000 }, (_, span) => span - 1);
  const spans = spansOf({ parent });
  const outline = new Outline(spans, everything(parent.length), true);
  expect(outline.level.at(-1)).toBe(100_000);
  expect(spans.size[0]).toBe(100_000);
});

test('the next of some spans goes around the ends', () => {
  const marked = Int32Array.of(2, 5, 9);
  const forward = [0, 2, 4, 5, 9, 12].map((span) => nextOf(marked, span, true));
  const backward = [0, 2, 4, 5, 9, 12].map((span) => nextOf(marked, span, false));
  expect(forward).toEqual([2, 5, 5, 9, 2, 2]);
  expect(backward).toEqual([9, 9, 2, 2, 5, 9]);
  expect(nextOf(new Int32Array(), 3, true)).toBe(-1);
  expect(nextOf(marked, -1, true)).toBe(2);
});
