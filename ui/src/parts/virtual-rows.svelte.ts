/** The rows of a long list that are on the screen. All rows are of one height, so nothing is measured. */
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
  /** The element that scrolls; null until it is there. */
  scroller: HTMLElement | null;
}

/** Rows rendered above and below what is seen. */
const OVERSCAN = 12;

/** The windows of a list. Make one per component, while it is initialised. */
export class VirtualRows {
  #virtualizer: Virtualizer<HTMLElement, HTMLElement>;
  #items = $state.raw<VirtualItem[]>([]);
  #size = $state(0);

  /** `options` is read anew whenever what it reads changes. */
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

  /** Scrolls as little as is needed to show a row; `center` puts it into the middle. */
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
