/** The spans of a trace as typed arrays, in preorder of their tree: a parent comes before its children. */
import type { CodedColumn, SpanColumns } from '../../../api/trace';

/** A dictionary-encoded column of texts. */
export class Texts {
  readonly values: readonly string[];
  readonly codes: Int32Array;

  constructor({ values, codes }: CodedColumn) {
    this.values = values;
    this.codes = Int32Array.from(codes);
  }

  /** The text of a span; null if it is missing. */
  at(span: number): string | null {
    return this.values[this.codes[span] ?? -1] ?? null;
  }
}

/** Returns the indexes where `mask` is 1, ascending. */
export function positions(mask: Uint8Array): Int32Array {
  const found = new Int32Array(mask.length);
  let count = 0;
  for (let index = 0; index < mask.length; index += 1) {
    if (mask[index] === 1) found[count++] = index;
  }
  return found.subarray(0, count);
}

export class Spans {
  readonly count: number;
  readonly ids: readonly string[];
  /** Index of the parent; -1 for a root. */
  readonly parent: Int32Array;
  /** Roots have depth 1. */
  readonly depth: Int32Array;
  /** The number of spans in the subtree, including the span itself. */
  readonly size: Int32Array;
  /** Microseconds after the start of the trace. */
  readonly start: Float64Array;
  /** Microseconds after the start of the trace; the end of the trace if no end was sent. */
  readonly end: Float64Array;
  /** 1 if no end was sent. */
  readonly running: Uint8Array;
  /** 1 if the span or a descendant failed. */
  readonly failing: Uint8Array;
  readonly type: Texts;
  readonly name: Texts;
  readonly model: Texts;
  readonly tool: Texts;
  readonly agent: Texts;
  readonly error: Texts;
  readonly inputTokens: Float64Array;
  readonly outputTokens: Float64Array;
  readonly cachedTokens: Float64Array;
  readonly reasoningTokens: Float64Array;
  /** What each span adds to the cost of the trace, in US dollars; null if that is unknown. */
  readonly cost: readonly (number | null)[];
  /** Spans that failed, in order. */
  readonly errors: Int32Array;
  /** The start of the first span and the end of the last one. */
  readonly from: number;
  readonly to: number;
  #indexOf: Map<string, number> | null = null;

  constructor(columns: SpanColumns) {
    this.count = columns.span_id.length;
    this.ids = columns.span_id;
    this.parent = Int32Array.from(columns.parent);
    this.type = new Texts(columns.type);
    this.name = new Texts(columns.name);
    this.model = new Texts(columns.model);
    this.tool = new Texts(columns.tool);
    this.agent = new Texts(columns.agent);
    this.error = new Texts(columns.error);
    this.inputTokens = Float64Array.from(columns.input_tokens);
    this.outputTokens = Float64Array.from(columns.output_tokens);
    this.cachedTokens = Float64Array.from(columns.cached_tokens);
    this.reasoningTokens = Float64Array.from(columns.reasoning_tokens);
    this.cost = columns.cost;
    this.start = Float64Array.from(columns.start_us);
    this.running = Uint8Array.from(columns.duration_us, (duration) => (duration === null ? 1 : 0));
    this.end = this.start.map((start, span) => start + (columns.duration_us[span] ?? 0));
    this.from = this.start.reduce((least, start) => Math.min(least, start), this.count === 0 ? 0 : Infinity);
    this.to = this.end.reduce((most, end) => Math.max(most, end), 0);
    this.running.forEach((isRunning, span) => {
      if (isRunning === 1) this.end[span] = this.to;
    });
    this.errors = positions(Uint8Array.from(this.error.codes, (code) => (code === -1 ? 0 : 1)));
    this.depth = new Int32Array(this.count);
    this.size = new Int32Array(this.count).fill(1);
    this.failing = new Uint8Array(this.count);
    this.#measureTree();
  }

  /** Returns the index of a span by its id; -1 if the trace has no such span. */
  indexOf(id: string): number {
    this.#indexOf ??= new Map(this.ids.map((each, span) => [each, span]));
    return this.#indexOf.get(id) ?? -1;
  }

  hasFailed(span: number): boolean {
    return (this.error.codes[span] ?? -1) !== -1;
  }

  duration(span: number): number {
    return (this.end[span] ?? 0) - (this.start[span] ?? 0);
  }

  #measureTree(): void {
    for (let span = 0; span < this.count; span += 1) {
      const parent = this.parent[span] ?? -1;
      this.depth[span] = parent === -1 ? 1 : (this.depth[parent] ?? 0) + 1;
      if (this.hasFailed(span)) this.failing[span] = 1;
    }
    for (let span = this.count - 1; span >= 0; span -= 1) {
      const parent = this.parent[span] ?? -1;
      if (parent === -1) continue;
      this.size[parent] = (this.size[parent] ?? 0) + (this.size[span] ?? 0);
      this.failing[parent] = (this.failing[parent] ?? 0) | (this.failing[span] ?? 0);
    }
  }
}
