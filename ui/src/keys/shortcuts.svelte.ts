/** The keys of the page. A screen declares its own while it is shown; `?` lists them. */
import { preferences } from '../state/preferences.svelte';

export interface Shortcut {
  /** A key as in `KeyboardEvent.key`, or a sequence of two keys: `/`, `Escape`, `g t`. */
  keys: string;
  /** The description in the list of keys. */
  label: string;
  run: () => void;
}

/** The maximum time between the two keys of a sequence, in milliseconds. */
const SEQUENCE_MS = 1_000;

interface Group {
  name: string;
  shortcuts: Shortcut[];
}

class Shortcuts {
  /** Groups of shortcuts, the latest last. */
  groups = $state.raw<readonly Group[]>([]);
  /** The same groups outside reactive state: the teardown of an effect reads state as it was before the change. */
  readonly #declared = new Set<Group>();
  #first: { key: string; at: number } | null = null;

  /** Declares shortcuts. Returns a function that removes them, for use as the teardown of an effect. */
  declare(name: string, shortcuts: Shortcut[]): () => void {
    const group = { name, shortcuts };
    this.#declared.add(group);
    this.groups = [...this.#declared];
    return () => {
      this.#declared.delete(group);
      this.groups = [...this.#declared];
    };
  }

  /**
   * Runs the shortcut of a key. Keys typed into a field, keys with a modifier, and keys over an open dialog are ignored;
   * Escape closes the dialog unless a shortcut handles it.
   */
  handle(event: KeyboardEvent): void {
    if (document.querySelector('dialog[open]') !== null) return;
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key !== 'Escape' && isTyping(event.target)) return;
    if (event.key.length === 1 && !preferences.letterKeys) return;
    const first = this.#first;
    this.#first = null;
    const pair = first !== null && event.timeStamp - first.at < SEQUENCE_MS ? `${first.key} ${event.key}` : null;
    const found = (pair === null ? undefined : this.#find(pair)) ?? this.#find(event.key);
    if (found !== undefined) {
      event.preventDefault();
      found.run();
    } else {
      this.#first = { key: event.key, at: event.timeStamp };
    }
  }

  #find(keys: string): Shortcut | undefined {
    return this.groups.flatMap((group) => group.shortcuts).findLast((shortcut) => shortcut.keys === keys);
  }
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable]') !== null;
}

export const shortcuts = new Shortcuts();
