/** The selected span, with its texts. */
import { fetchSpan, type SpanDetail, type TraceAddress } from '../../../api/trace';
import { Loading } from '../../../state/loading.svelte';
import { LongValue } from './long-value.svelte';
import type { Tree } from './tree.svelte';

/** The delay before the selected span is requested, in milliseconds, because arrow keys pass over many spans. */
const REST_MS = 60;

export class OpenSpan {
  readonly #address: TraceAddress;
  readonly #tree: Tree;
  readonly #loading = new Loading<SpanDetail>();
  #asked = 0;

  /** Follows the selection. Create it during the initialization of a component. */
  constructor(address: TraceAddress, tree: Tree) {
    this.#address = address;
    this.#tree = tree;
    $effect(() => {
      const { id } = this;
      if (id === null) return;
      const rest = performance.now() - this.#asked < REST_MS * 2 ? REST_MS : 0;
      this.#asked = performance.now();
      const timer = setTimeout(() => {
        this.load();
      }, rest);
      return () => {
        clearTimeout(timer);
        this.#loading.abort();
      };
    });
  }

  /** The id of the selected span; null if the address names a missing span. */
  get id(): string | null {
    return this.#tree.spans.ids[this.#tree.selected] ?? null;
  }

  /** The details from the service; null until they are loaded. */
  get detail(): SpanDetail | null {
    const { value } = this.#loading;
    return value !== null && value.id === this.id ? value : null;
  }

  get problem(): unknown {
    return this.#loading.problem;
  }

  load(): void {
    const { id } = this;
    if (id !== null) void this.#loading.load((signal) => fetchSpan(this.#address, id, signal));
  }

  /** Returns the value at a path of the span. `text` is the beginning that was sent with the span. */
  valueAt(path: string, text: string): LongValue {
    return (
      this.#cut.find((value) => value.path === path) ??
      new LongValue(this.#address, this.id ?? '', { path, text, bytes: null })
    );
  }

  readonly #cut = $derived.by(() => {
    const detail = this.detail;
    if (detail === null) return [];
    return (detail.cut ?? []).map(({ path, bytes }) => {
      const text = textAt(detail, path);
      return new LongValue(this.#address, detail.id, { path, text, bytes });
    });
  });
}

/** Returns the text at a JSON pointer (RFC 6901); empty if it is missing. */
function textAt(value: unknown, pointer: string): string {
  let found = value;
  for (const segment of pointer.split('/').slice(1)) {
    const name = segment.replaceAll('~1', '/').replaceAll('~0', '~');
    found = (found as Record<string, unknown> | null | undefined)?.[name];
  }
  return typeof found === 'string' ? found : '';
}
