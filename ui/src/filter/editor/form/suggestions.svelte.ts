/** Values of a field that occur, for what a user begins to type. */
import { fetchFacets, fetchSpanValues, isCounted, isOfSpans } from '../../../api/facets';
import { Loading } from '../../../state/loading.svelte';

/** Whose field has the values, and in which trace store; null for the default. */
export interface ValueSource {
  of: 'traces' | 'spans';
  store: string | null;
}

const MAX_VALUES = 12;
/** How long a user may pause between two letters, in milliseconds. */
const PAUSE_MS = 120;

export class Suggestions {
  #loading = new Loading<string[]>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** The values, the most frequent first. Without an answer none: the field takes any text. */
  get values(): string[] {
    return this.#loading.value ?? [];
  }

  /** Asks for the values of a field that begin with a text. */
  ask({ of, store }: ValueSource, key: string, text: string): void {
    const request = of === 'traces' ? valuesOfTraces(key, text, store) : valuesOfSpans(key, text, store);
    clearTimeout(this.#timer);
    if (request !== null) this.#timer = setTimeout(() => void this.#loading.load(request), PAUSE_MS);
  }
}

type Request = (signal: AbortSignal) => Promise<string[]>;

function valuesOfTraces(key: string, text: string, store: string | null): Request | null {
  if (!isCounted(key)) return null;
  const prefix = { field: key, text };
  const request = { filter: null, store, fields: [key], limit: MAX_VALUES, prefix, excludeOwn: false };
  return async (signal) => {
    const values = (await fetchFacets(request, signal)).data[key]?.values ?? [];
    return values.map((each) => each.value);
  };
}

function valuesOfSpans(key: string, text: string, store: string | null): Request | null {
  if (!isOfSpans(key)) return null;
  return async (signal) => (await fetchSpanValues(key, text, store, signal)).slice(0, MAX_VALUES);
}
