/** Suggestions while the user types: values of a field, or attribute keys. */
import {
  fetchAttributeKeys,
  fetchFacets,
  fetchSpanValues,
  isCounted,
  isOfSpans,
  type AttributeKeys,
} from '../../../api/facets';
import { Loading } from '../../../state/loading.svelte';

/** The level of the field (trace or span), and the trace store; null for the default store. */
export interface ValueSource {
  of: 'traces' | 'spans';
  store: string | null;
}

const MAX_VALUES = 12;
/** The pause after the last keystroke before a request is sent, in milliseconds. */
const PAUSE_MS = 120;
/** The maximum length of a key prefix in characters. */
const MAX_PREFIX = 1_100;

export type Request<T> = (signal: AbortSignal) => Promise<T>;

export class Suggestions<T> {
  #loading = new Loading<T>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** The suggestions, most frequent first; null before a response. The field accepts any text. */
  get answer(): T | null {
    return this.#loading.value ?? null;
  }

  /** Schedules a request, or none for null. A running request is cancelled. */
  ask(request: Request<T> | null): void {
    this.stop();
    if (request !== null) this.#timer = setTimeout(() => void this.#loading.load(request), PAUSE_MS);
  }

  /** Cancels the scheduled or running request. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#loading.abort();
  }
}

/** Returns the request for the values of a field with a prefix; null if the field has no suggestions. */
export function valueRequest({ of, store }: ValueSource, key: string, text: string): Request<string[]> | null {
  return of === 'traces' ? valuesOfTraces(key, text, store) : valuesOfSpans(key, text, store);
}

/** Returns the request for attribute keys with a prefix; null if the prefix is longer than any key. */
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
