/** Values of a field that occur, for what a user begins to type. */
import { fetchFacets, isCounted, type FacetValue } from '../../api/facets';
import { Loading } from '../../state/loading.svelte';

const MAX_VALUES = 12;
/** How long a user may pause between two letters, in milliseconds. */
const PAUSE_MS = 120;

export class Suggestions {
  #loading = new Loading<FacetValue[]>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** The values, the most frequent first. Without an answer none: the field takes any text. */
  get values(): FacetValue[] {
    return this.#loading.value ?? [];
  }

  /** Asks for the values of a field that begin with a text. */
  ask(key: string, text: string, store: string | null): void {
    if (!isCounted(key)) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      void this.#loading.load(async (signal) => {
        const prefix = { field: key, text };
        const request = { filter: null, store, fields: [key], limit: MAX_VALUES, prefix, excludeOwn: false };
        return (await fetchFacets(request, signal)).data[key]?.values ?? [];
      });
    }, PAUSE_MS);
  }
}
