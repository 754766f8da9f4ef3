/** The visible tree, its open nodes, and the selection. */
import { isRun, Outline, spanOf, type Key } from '../model/outline';
import { nextOf, Opened, Rows } from '../model/rows';
import { SpanSearch, type Matches } from '../model/search';
import { keySpans, shownSpans } from '../model/shown';
import type { Spans } from '../model/spans';
import type { Choices } from './choices.svelte';

export class Tree {
  readonly spans: Spans;
  readonly #choices: Choices;
  readonly #key: Uint8Array;
  readonly #search: SpanSearch;
  readonly #opened: Opened;
  #version = $state(0);
  /** True if the selected span represents the run that starts with it. */
  #isRun = $state(false);

  constructor(spans: Spans, choices: Choices) {
    this.spans = spans;
    this.#choices = choices;
    this.#key = keySpans(spans);
    this.#search = new SpanSearch(spans);
    this.#opened = new Opened(spans.count);
    this.reveal();
  }

  /** The selected span; -1 if the address names a missing span. */
  readonly selected = $derived.by(() => {
    const { span } = this.#choices;
    return span === null ? Math.min(0, this.spans.count - 1) : this.spans.indexOf(span);
  });
  readonly selectedKey = $derived.by<Key>(() => (this.#isRun ? -1 - this.selected : this.selected));
  /** The spans that match the filter of the list; null without a filter. */
  marked = $state.raw<Matches | null>(null);
  /** Matches of the search take precedence over matches of the filter. */
  readonly matches = $derived.by(() => this.#search.find(this.#choices.find) ?? this.marked);

  readonly #pinned = $derived.by(() => {
    const { selected } = this;
    const isHidden = this.#choices.keyOnly && !this.#choices.matchesOnly && this.#key[selected] === 0;
    return isHidden && this.#choices.span !== null ? selected : -1;
  });

  readonly #shown = $derived.by(() =>
    shownSpans(this.spans, this.#key, {
      keyOnly: this.#choices.keyOnly,
      matches: this.matches?.mask ?? null,
      matchesOnly: this.#choices.matchesOnly,
      pinned: this.#pinned,
    }),
  );
  readonly outline = $derived.by(() => new Outline(this.spans, this.#shown, this.#choices.folds));
  readonly rows = $derived.by(() => {
    void this.#version;
    return new Rows(this.outline, this.#opened);
  });
  /** The number of hidden spans. */
  readonly hidden = $derived.by(() => this.#shown.reduce((sum, mark) => sum - mark, this.spans.count));
  /** The row of the selected node; the first row if it has no row. */
  readonly activeRow = $derived.by(() => this.#rowOf(this.selectedKey));
  /** The position of the selected span among the matches, from 1; 0 if it does not match. */
  readonly matchPosition = $derived.by(() => (this.matches?.spans.indexOf(this.selected) ?? -1) + 1);

  isOpen(key: Key): boolean {
    void this.#version;
    return this.#opened.has(key);
  }

  /** Returns the key of a row. */
  keyAt(row: number): Key {
    return this.outline.keys[this.rows.nodes[row] ?? -1] ?? 0;
  }

  select(key: Key): void {
    this.#isRun = isRun(key);
    this.#choices.span = this.spans.ids[spanOf(key)] ?? null;
  }

  /** Selects a row. An index outside the list selects the nearest row. */
  selectRow(row: number): void {
    if (this.rows.count > 0) this.select(this.keyAt(Math.max(0, Math.min(row, this.rows.count - 1))));
  }

  /** Opens the ancestors of the selected span. */
  reveal(): void {
    const node = this.outline.find(this.selectedKey);
    if (node !== -1 && this.#opened.reveal(this.outline, node)) this.#version += 1;
  }

  setOpen(key: Key, isOpen: boolean): void {
    this.#opened.set(key, isOpen);
    this.#version += 1;
    this.#keepSeen();
  }

  setAllOpen(isOpen: boolean): void {
    this.#opened.setAll(isOpen);
    this.#version += 1;
    this.#keepSeen();
  }

  /** Selects the next (or previous) failed span. Returns whether there is one. */
  goToError(forward = true): boolean {
    return this.#goTo(this.spans.errors, forward);
  }

  /** Selects the next (or previous) match. Returns whether there is one. */
  goToMatch(forward = true): boolean {
    return this.matches !== null && this.#goTo(this.matches.spans, forward);
  }

  #goTo(marked: Int32Array, forward: boolean): boolean {
    const span = nextOf(marked, this.selected, forward);
    if (span === -1) return false;
    this.select(span);
    this.reveal();
    return true;
  }

  /** Moves the selection up to the nearest node that has a row. */
  #keepSeen(): void {
    let node = this.outline.find(this.selectedKey);
    if (node === -1 || this.rows.rowOf[node] !== -1) return;
    while (node !== -1 && this.rows.rowOf[node] === -1) node = this.outline.parent[node] ?? -1;
    if (node !== -1) this.select(this.outline.keys[node] ?? 0);
  }

  #rowOf(key: Key): number {
    const node = this.selected === -1 ? -1 : this.outline.find(key);
    return Math.max(0, this.rows.rowOf[node] ?? -1);
  }
}
