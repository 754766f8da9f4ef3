/** The filters that a user applied last, stored in the browser for each user. */
import { readFilter, writeFilter } from '../filter/address';
import type { Expression } from '../filter/expression';
import { signIn } from './sign-in.svelte';

const MAX_FILTERS = 10;

class RecentFilters {
  readonly #key = $derived(`spanwise.recent-filters ${signIn.claims?.subject ?? ''}`);
  /** Compact JSON by user key, latest first. */
  #texts = $state.raw<Record<string, string[]>>({});

  /** The filters of the user, latest first. */
  readonly all = $derived(
    this.#read().flatMap((text): Expression[] => {
      const filter = readFilter(text);
      return filter ? [filter] : [];
    }),
  );

  /** Moves a filter to the front. */
  add(filter: Expression | null): void {
    const text = writeFilter(filter);
    if (text !== null) this.#keep([text, ...this.#read().filter((each) => each !== text)].slice(0, MAX_FILTERS));
  }

  forget(): void {
    this.#keep([]);
  }

  #read(): string[] {
    return this.#texts[this.#key] ?? load(this.#key);
  }

  #keep(texts: string[]): void {
    this.#texts = { ...this.#texts, [this.#key]: texts };
    try {
      // eslint-disable-next-line no-restricted-globals -- filters outlive the tab, as their user expects
      localStorage.setItem(this.#key, JSON.stringify(texts));
    } catch {
      // If the browser cannot store them, they remain until the page is closed.
    }
  }
}

function load(key: string): string[] {
  try {
    // eslint-disable-next-line no-restricted-globals -- filters outlive the tab, as their user expects
    const stored: unknown = JSON.parse(localStorage.getItem(key) ?? '[]');
    return Array.isArray(stored) ? stored.filter((text) => typeof text === 'string') : [];
  } catch {
    return [];
  }
}

export const recentFilters = new RecentFilters();
