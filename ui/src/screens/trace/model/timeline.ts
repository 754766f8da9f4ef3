/** The mapping of times to the time axis, with zoom and folded idle time. Times are microseconds after the start. */
import type { Spans } from './spans';

export interface Range {
  from: number;
  to: number;
}

/** The minimum length of a folded gap, as a share of the trace. */
const LEAST_SHARE = 0.05;
/** The remaining width of a folded gap, as a share of the active time. */
const FOLDED_SHARE = 0.03;
/** The minimum share of idle time for which folding is offered. */
export const OFFERED_SHARE = 0.5;

/** Returns the long gaps in which no leaf span runs, ascending. */
export function idleGaps(spans: Spans): Range[] {
  const leaves: number[] = [];
  for (let span = 0; span < spans.count; span += 1) if (spans.size[span] === 1) leaves.push(span);
  leaves.sort((one, other) => (spans.start[one] ?? 0) - (spans.start[other] ?? 0));
  const least = (spans.to - spans.from) * LEAST_SHARE;
  const gaps: Range[] = [];
  let busyUntil = spans.from;
  for (const leaf of leaves) {
    const start = spans.start[leaf] ?? 0;
    if (start - busyUntil > least) gaps.push({ from: busyUntil, to: start });
    busyUntil = Math.max(busyUntil, spans.end[leaf] ?? 0);
  }
  if (spans.to - busyUntil > least) gaps.push({ from: busyUntil, to: spans.to });
  return gaps;
}

/** Returns the share of the trace time in gaps, from 0 to 1. */
export function idleShare(spans: Spans, gaps: readonly Range[]): number {
  const whole = spans.to - spans.from;
  return whole <= 0 ? 0 : total(gaps) / whole;
}

function total(gaps: readonly Range[]): number {
  return gaps.reduce((sum, gap) => sum + gap.to - gap.from, 0);
}

/** The axis of a time range. Positions are shares of its width, from 0 to 1. */
export class Timeline {
  readonly range: Range;
  readonly gaps: readonly Range[];
  readonly #foldedLength: number;
  readonly #origin: number;
  readonly #width: number;

  /** `whole` is the time of the trace, `range` the visible part, and `gaps` the folded parts. */
  constructor(whole: Range, range: Range, gaps: readonly Range[]) {
    this.range = range;
    this.gaps = gaps;
    const busy = Math.max(whole.to - whole.from - total(gaps), 1);
    this.#foldedLength = busy * FOLDED_SHARE;
    this.#origin = this.#fold(range.from);
    this.#width = Math.max(this.#fold(range.to) - this.#origin, 1e-6);
  }

  /** Returns the position of a time; below 0 or above 1 if it is outside the range. */
  position(time: number): number {
    return (this.#fold(time) - this.#origin) / this.#width;
  }

  /** Returns the time at a position. */
  timeAt(position: number): number {
    return this.#unfold(this.#origin + position * this.#width);
  }

  #fold(time: number): number {
    let folded = time;
    for (const { from, to } of this.gaps) {
      if (time <= from) break;
      const length = to - from;
      const within = Math.min(time, to) - from;
      folded += within * (this.#foldedLength / length - 1);
    }
    return folded;
  }

  #unfold(folded: number): number {
    let time = folded;
    for (const { from, to } of this.gaps) {
      if (time <= from) break;
      const within = Math.min(time - from, this.#foldedLength);
      time += within * ((to - from) / this.#foldedLength - 1);
    }
    return time;
  }
}

/** Returns a range within `whole` of at least a thousandth of a microsecond. */
export function clampRange(range: Range, whole: Range): Range {
  const from = Math.min(Math.max(Math.min(range.from, range.to), whole.from), whole.to);
  const to = Math.max(Math.min(Math.max(range.from, range.to), whole.to), whole.from);
  return to - from < 1 ? { from: Math.max(whole.from, to - 1), to: Math.max(to, whole.from + 1) } : { from, to };
}

/** Returns a range in the form of an address, `120-4500`; null for the whole trace. */
export function writeRange(range: Range | null): string | null {
  return range === null ? null : `${String(Math.round(range.from))}-${String(Math.round(range.to))}`;
}

/** Returns the range in a text; null if it is invalid. */
export function readRange(text: string | null): Range | null {
  const [, from, to] = /^(\d{1,15})-(\d{1,15})$/.exec(text ?? '') ?? [];
  if (from === undefined || to === undefined || Number(from) >= Number(to)) return null;
  return { from: Number(from), to: Number(to) };
}
