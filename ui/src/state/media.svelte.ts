/**
 * The result of a media query. One instance per query lives as long as the page. The class in `svelte/reactivity`
 * would load its maps and sets as well.
 */
class Media {
  #matches = $state(false);

  constructor(query: string) {
    const list = matchMedia(query);
    this.#matches = list.matches;
    list.addEventListener('change', () => (this.#matches = list.matches));
  }

  get current(): boolean {
    return this.#matches;
  }
}

/** A narrow window, in which panels move from beside a list to above it. */
export const isNarrow = new Media('(max-width: 64rem)');
/** A window with room for two charts. */
export const isWide = new Media('(min-width: 56rem)');
export const prefersDark = new Media('(prefers-color-scheme: dark)');
