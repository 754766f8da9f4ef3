/** What occurs and begins with what a user types: values of a field, and keys of attributes. */
import {
  fetchAttributeKeys,
  fetchFacets,
  fetchSpanValues,
  isCounted,
  isOfSpans,
  type AttributeKeys,
} from '../../../api/facets';
import { Loading } from '../../../state/loading.svelte';

/** Whose field has the values, and in which trace store; null for the default. */
export interface ValueSource {
  of: 'traces' | 'spans';
  store: string | null;
}

const MAX_VALUES = 12;
/** How long a user may pause between two letters, in milliseconds. */
const PAUSE_MS = 120;
/** The service takes no longer beginning of a key, in characters. */
const MAX_PREFIX = 1_100;

export type Request<T> = (signal: AbortSignal) => Promise<T>;

export class Suggestions<T> {
  #loading = new Loading<T>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** What occurs, the most frequent first; null without an answer: fields take any text. */
  get answer(): T | null {
    return this.#loading.value ?? null;
  }

  /** Asks, once nothing else is asked for a moment; null asks for nothing. The request under way is given up. */
  ask(request: Request<T> | null): void {
    this.stop();
    if (request !== null) this.#timer = setTimeout(() => void this.#loading.load(request), PAUSE_MS);
  }

  /** Gives up what is asked. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#loading.abort();
  }
}

/** Returns the request for values of a field that begin with a text; null if none are known of this field. */
export function valueRequest({ of, store }: ValueSource, key: string, text: string): Request<string[]> | null {
  return of === 'traces' ? valuesOfTraces(key, text, store) : valuesOfSpans(key, text, store);
}

/** Returns the request for keys of attributes that begin with a text; null if no key is as long. */
export function keyRequest(prefix: string, store: string | null): Request<AttributeKeys> | null {
  if (prefix.length > MAX_PREFIX) return null;
  return (signal) => fetchAttributeKeys(prefix, MAX_VALUES, store, signal);
}

function valuesOfTraces(key: string, text: string, store: string | null): Request<string[]> | null {
  if (!isCounted(key)) return null;
  const prefix = { field: key, text };
  const request = { filter: null, store, fields: [key], limit: MAX_VALUES, prefix, excludeOwn: false };
  return async (signal) => {
    const values = (await fetchFacets(request, signal)).data[key]?.values ?? [];
    return values.map((each) => each.value);
  };
}

function valuesOfSpans(key: string, text: string, store: string | null): Request<string[]> | null {
  if (!isOfSpans(key)) return null;
  return async (signal) => (await fetchSpanValues(key, text, store, signal)).slice(0, MAX_VALUES);
}
