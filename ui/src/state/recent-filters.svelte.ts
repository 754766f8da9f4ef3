/** The filters that a user applied last, kept in the browser for each user of it. */
import { readFilter, writeFilter } from '../filter/address';
import type { Expression } from '../filter/expression';
import { signIn } from './sign-in.svelte';

const MAX_FILTERS = 10;

class RecentFilters {
  readonly #key = $derived(`spanwise.recent-filters ${signIn.claims?.subject ?? ''}`);
  /** Compact JSON by the key of its user, the latest first. */
  #texts = $state.raw<Record<string, string[]>>({});

  /** The filters of the user, the latest first. */
  readonly all = $derived(
    this.#read().flatMap((text): Expression[] => {
      const filter = readFilter(text);
      return filter ? [filter] : [];
    }),
  );

  /** Puts a filter first. */
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
      // A browser that keeps nothing still has them until the page is closed.
    }
  }
}

function load(key: string): string[] {
  try {
    // eslint-disable-next-line no-restricted-globals -- filters outlive the tab, as their user expects
    const kept: unknown = JSON.parse(localStorage.getItem(key) ?? '[]');
    return Array.isArray(kept) ? kept.filter((text) => typeof text === 'string') : [];
  } catch {
    return [];
  }
}

export const recentFilters = new RecentFilters();
