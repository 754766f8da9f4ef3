/** The time axis: its visible range, and whether idle time is folded. */
import type { Spans } from '../model/spans';
import { clampRange, idleGaps, idleShare, OFFERED_SHARE, Timeline, type Range } from '../model/timeline';
import type { Choices } from './choices.svelte';

/** The zoom factor of one step. */
const FACTOR = 2;

export class Time {
  readonly whole: Range;
  readonly gaps: readonly Range[];
  readonly idleShare: number;
  readonly #choices: Choices;

  constructor(spans: Spans, choices: Choices) {
    this.whole = { from: spans.from, to: Math.max(spans.to, spans.from + 1) };
    this.gaps = idleGaps(spans);
    this.idleShare = idleShare(spans, this.gaps);
    this.#choices = choices;
  }

  readonly range = $derived.by(() =>
    this.#choices.zoom === null ? this.whole : clampRange(this.#choices.zoom, this.whole),
  );
  /** The gaps that are folded. */
  readonly folded = $derived.by(() => (this.#choices.foldsIdle ? this.gaps : []));
  readonly timeline = $derived.by(() => new Timeline(this.whole, this.range, this.folded));
  /** The axis of the whole trace. */
  readonly overview = $derived.by(() => new Timeline(this.whole, this.whole, this.folded));

  get isZoomed(): boolean {
    return this.#choices.zoom !== null;
  }

  /** True if there is enough idle time to offer folding. */
  get isIdle(): boolean {
    return this.idleShare >= OFFERED_SHARE;
  }

  /** Shows a range; null for all. */
  zoom(range: Range | null): void {
    const clamped = range === null ? this.whole : clampRange(range, this.whole);
    const isWhole = clamped.from <= this.whole.from && clamped.to >= this.whole.to;
    this.#choices.zoom = isWhole ? null : clamped;
  }

  /** Zooms in or out by a factor of two around a time. */
  step(closer: boolean, around: number): void {
    const { from, to } = this.range;
    const middle = Math.min(Math.max(around, from), to);
    const factor = closer ? 1 / FACTOR : FACTOR;
    this.zoom({ from: middle - (middle - from) * factor, to: middle + (to - middle) * factor });
  }
}
