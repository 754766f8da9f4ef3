/** The rows of the grid: the nodes of an outline without a closed ancestor. */
import { isRun, spanOf, type Key, type Outline } from './outline';
import type { Spans } from './spans';
import type { Range } from './timeline';

/** Which nodes are open. A span is open unless it was closed; a run is closed unless it was opened. */
export class Opened {
  readonly #closedSpans: Uint8Array;
  readonly #openRuns: Uint8Array;

  constructor(spans: number) {
    this.#closedSpans = new Uint8Array(spans);
    this.#openRuns = new Uint8Array(spans);
  }

  has(key: Key): boolean {
    return isRun(key) ? this.#openRuns[spanOf(key)] === 1 : this.#closedSpans[key] === 0;
  }

  set(key: Key, isOpen: boolean): void {
    if (isRun(key)) this.#openRuns[spanOf(key)] = isOpen ? 1 : 0;
    else this.#closedSpans[key] = isOpen ? 0 : 1;
  }

  setAll(isOpen: boolean): void {
    this.#closedSpans.fill(isOpen ? 0 : 1);
    this.#openRuns.fill(isOpen ? 1 : 0);
  }

  /** Opens the ancestors of a node. Returns true if one was closed. */
  reveal(outline: Outline, node: number): boolean {
    let changed = false;
    for (let above = outline.parent[node] ?? -1; above !== -1; above = outline.parent[above] ?? -1) {
      const key = outline.keys[above] ?? 0;
      if (this.has(key)) continue;
      this.set(key, true);
      changed = true;
    }
    return changed;
  }
}

export class Rows {
  /** The node of each row. */
  readonly nodes: Int32Array;
  /** The row of each node; -1 if it is below a closed one. */
  readonly rowOf: Int32Array;

  constructor(outline: Outline, opened: Opened) {
    const nodes = new Int32Array(outline.count);
    this.rowOf = new Int32Array(outline.count).fill(-1);
    let count = 0;
    for (let node = 0; node < outline.count;) {
      nodes[count] = node;
      this.rowOf[node] = count;
      count += 1;
      node += opened.has(outline.keys[node] ?? 0) ? 1 : (outline.size[node] ?? 1);
    }
    this.nodes = nodes.subarray(0, count);
  }

  get count(): number {
    return this.nodes.length;
  }
}

/** Returns the next (or previous) span of the ascending list `marked`, wrapping around; -1 if the list is empty. */
export function nextOf(marked: Int32Array, span: number, forward: boolean): number {
  if (marked.length === 0) return -1;
  let low = 0;
  let high = marked.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((marked[middle] ?? 0) <= (forward ? span : span - 1)) low = middle + 1;
    else high = middle;
  }
  const index = forward ? low % marked.length : (low + marked.length - 1) % marked.length;
  return marked[index] ?? -1;
}

/** Returns the start and end of a node in microseconds after the start of the trace. */
export function extent(spans: Spans, outline: Outline, node: number): Range {
  const key = outline.keys[node] ?? 0;
  if (!isRun(key)) return { from: spans.start[key] ?? 0, to: spans.end[key] ?? 0 };
  let from = Infinity;
  let to = -Infinity;
  for (const member of runMembers(outline, node)) {
    from = Math.min(from, spans.start[member] ?? 0);
    to = Math.max(to, spans.end[member] ?? 0);
  }
  return { from, to };
}

/** Returns the spans of a run. */
export function runMembers(outline: Outline, run: number): number[] {
  const members: number[] = [];
  const end = run + (outline.size[run] ?? 1);
  for (let node = run + 1; node < end; node += outline.size[node] ?? 1) members.push(outline.keys[node] ?? 0);
  return members;
}
