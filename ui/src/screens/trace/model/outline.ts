/**
 * The visible tree: its nodes in preorder. A node is a span, or represents a run of equal siblings, which are then
 * its children. Hidden spans have no node; their children move up to the nearest visible ancestor.
 */
import type { Spans } from './spans';

/** The minimum number of equal siblings that are folded into one node. */
export const FEWEST_EQUAL = 3;

/** The identity of a node in all outlines of a trace: `span`, or `-1 - span` for a run that starts with it. */
export type Key = number;

export const runKey = (first: number): Key => -1 - first;
export const isRun = (key: Key): boolean => key < 0;
/** Returns the span of a key; the first one of a run. */
export const spanOf = (key: Key): number => (key < 0 ? -1 - key : key);

export class Outline {
  readonly count: number;
  readonly keys: Int32Array;
  /** Index of the parent node; -1 for a root. */
  readonly parent: Int32Array;
  /** Roots have level 1. */
  readonly level: Int32Array;
  /** The number of nodes in the subtree, including the node itself. */
  readonly size: Int32Array;
  /** The position among its siblings, from 1, and the number of siblings. */
  readonly position: Int32Array;
  readonly siblings: Int32Array;
  /** Number of spans of a run; 1 for a span. */
  readonly length: Int32Array;
  /** The node of each span; -1 if it is not shown. */
  readonly nodeOf: Int32Array;

  constructor(spans: Spans, shown: Uint8Array, folds: boolean) {
    const family = findSiblings(spans, shown);
    const runs = folds ? findRuns(spans, family) : null;
    const builder = new Builder(spans.count, family, runs);
    this.count = builder.count;
    this.keys = builder.keys.subarray(0, this.count);
    this.parent = builder.parent.subarray(0, this.count);
    this.length = builder.length.subarray(0, this.count);
    this.nodeOf = builder.nodeOf;
    this.level = new Int32Array(this.count);
    this.size = new Int32Array(this.count).fill(1);
    this.position = new Int32Array(this.count);
    this.siblings = new Int32Array(this.count);
    this.#measure();
  }

  /** Returns the node of a key. If the run does not exist, returns the node of its span; -1 if neither is visible. */
  find(key: Key): number {
    const node = this.nodeOf[spanOf(key)] ?? -1;
    if (!isRun(key) || node === -1) return node;
    const parent = this.parent[node] ?? -1;
    return parent !== -1 && this.keys[parent] === key ? parent : node;
  }

  #measure(): void {
    const children = new Int32Array(this.count + 1);
    for (let node = 0; node < this.count; node += 1) {
      const parent = this.parent[node] ?? -1;
      this.level[node] = parent === -1 ? 1 : (this.level[parent] ?? 0) + 1;
      children[parent + 1] = (children[parent + 1] ?? 0) + 1;
      this.position[node] = children[parent + 1] ?? 0;
    }
    for (let node = this.count - 1; node >= 0; node -= 1) {
      const parent = this.parent[node] ?? -1;
      this.siblings[node] = children[parent + 1] ?? 0;
      if (parent !== -1) this.size[parent] = (this.size[parent] ?? 0) + (this.size[node] ?? 0);
    }
  }
}

interface Family {
  shown: Uint8Array;
  /** The nearest visible ancestor; -1 for none. */
  parent: Int32Array;
  /** The previous visible sibling; -1 for none. */
  previous: Int32Array;
}

function findSiblings(spans: Spans, shown: Uint8Array): Family {
  const parent = new Int32Array(spans.count);
  const previous = new Int32Array(spans.count).fill(-1);
  const last = new Int32Array(spans.count + 1).fill(-1);
  for (let span = 0; span < spans.count; span += 1) {
    const above = spans.parent[span] ?? -1;
    const nearest = above === -1 || shown[above] === 1 ? above : (parent[above] ?? -1);
    parent[span] = nearest;
    if (shown[span] !== 1) continue;
    previous[span] = last[nearest + 1] ?? -1;
    last[nearest + 1] = span;
  }
  return { shown, parent, previous };
}

interface Runs {
  /** The first span of the run that a span belongs to. */
  first: Int32Array;
  /** The number of spans of a run, stored at its first span. */
  length: Int32Array;
}

function findRuns(spans: Spans, { shown, previous }: Family): Runs {
  const first = new Int32Array(spans.count);
  const length = new Int32Array(spans.count);
  for (let span = 0; span < spans.count; span += 1) {
    if (shown[span] !== 1) continue;
    const before = previous[span] ?? -1;
    const continues =
      before !== -1 &&
      spans.name.codes[before] === spans.name.codes[span] &&
      spans.type.codes[before] === spans.type.codes[span] &&
      spans.failing[before] === 0 &&
      spans.failing[span] === 0;
    const begin = continues ? (first[before] ?? span) : span;
    first[span] = begin;
    length[begin] = (length[begin] ?? 0) + 1;
  }
  return { first, length };
}

/** Lays out the nodes, runs before their members. */
class Builder {
  count = 0;
  readonly keys: Int32Array;
  readonly parent: Int32Array;
  readonly length: Int32Array;
  readonly nodeOf: Int32Array;

  constructor(spans: number, family: Family, runs: Runs | null) {
    const most = runs === null ? spans : spans + Math.floor(spans / FEWEST_EQUAL);
    this.keys = new Int32Array(most);
    this.parent = new Int32Array(most);
    this.length = new Int32Array(most);
    this.nodeOf = new Int32Array(spans).fill(-1);
    for (let span = 0; span < spans; span += 1) {
      if (family.shown[span] !== 1) continue;
      const above = family.parent[span] ?? -1;
      let parent = above === -1 ? -1 : (this.nodeOf[above] ?? -1);
      const first = runs?.first[span] ?? span;
      const length = runs?.length[first] ?? 1;
      if (length >= FEWEST_EQUAL) {
        if (first === span) this.#add(runKey(span), parent, length);
        parent = first === span ? this.count - 1 : (this.parent[this.nodeOf[first] ?? -1] ?? -1);
      }
      this.nodeOf[span] = this.count;
      this.#add(span, parent, 1);
    }
  }

  #add(key: Key, parent: number, length: number): void {
    this.keys[this.count] = key;
    this.parent[this.count] = parent;
    this.length[this.count] = length;
    this.count += 1;
  }
}
