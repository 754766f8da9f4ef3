/** The visible rows of a long list. All rows have the same height, so nothing is measured. */
import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
  type VirtualItem,
} from '@tanstack/virtual-core';

export interface RowsOptions {
  /** The number of rows. */
  count: number;
  /** The height of a row in pixels. */
  height: number;
  /** The scrolling element; null until it exists. */
  scroller: HTMLElement | null;
}

/** The number of rows rendered above and below the visible ones. */
const OVERSCAN = 12;

/** A virtualized list. Create one per component, during its initialization. */
export class VirtualRows {
  #virtualizer: Virtualizer<HTMLElement, HTMLElement>;
  #items = $state.raw<VirtualItem[]>([]);
  #size = $state(0);

  /** `options` is reactive: it is called again when its dependencies change. */
  constructor(options: () => RowsOptions) {
    this.#virtualizer = new Virtualizer(this.#settings(options()));
    $effect(() => this.#virtualizer._didMount());
    $effect(() => {
      this.#virtualizer.setOptions(this.#settings(options()));
      this.#virtualizer._willUpdate();
      this.#virtualizer.measure();
      this.#read();
    });
  }

  /** The rows to render: `index` is the row, `start` its distance from the top in pixels. */
  get items(): VirtualItem[] {
    return this.#items;
  }

  /** The height of all rows in pixels. */
  get size(): number {
    return this.#size;
  }

  /** Scrolls the minimum distance to show a row; `center` scrolls it to the middle. */
  show(index: number, align: 'auto' | 'center' | 'end' = 'auto'): void {
    this.#virtualizer.scrollToIndex(index, { align });
  }

  #read(): void {
    this.#items = this.#virtualizer.getVirtualItems();
    this.#size = this.#virtualizer.getTotalSize();
  }

  #settings({ count, height, scroller }: RowsOptions) {
    return {
      count,
      overscan: OVERSCAN,
      estimateSize: () => height,
      getScrollElement: () => scroller,
      scrollToFn: elementScroll,
      observeElementRect,
      observeElementOffset,
      onChange: () => {
        this.#read();
      },
    };
  }
}
