/** A text of a span, which may be loaded only in part. */
import { fetchPart, type TraceAddress } from '../../../api/trace';
import { Loading } from '../../../state/loading.svelte';

export class LongValue {
  readonly path: string;
  /** The loaded part. */
  text = $state.raw('');
  /** The full size in UTF-8 bytes; null if the text is loaded completely. */
  readonly bytes: number | null;
  readonly #address: TraceAddress;
  readonly #span: string;
  readonly #loading = new Loading<void>();
  #next = $state<number | null>(null);

  constructor(address: TraceAddress, span: string, value: { path: string; text: string; bytes: number | null }) {
    this.#address = address;
    this.#span = span;
    this.path = value.path;
    this.text = value.text;
    this.bytes = value.bytes;
    this.#next = value.bytes === null ? null : new TextEncoder().encode(value.text).length;
  }

  /** True if more can be loaded. */
  get isTruncated(): boolean {
    return this.#next !== null;
  }

  /** The number of loaded bytes. */
  get read(): number {
    return this.#next ?? this.bytes ?? 0;
  }

  get isBusy(): boolean {
    return this.#loading.isBusy;
  }

  get problem(): unknown {
    return this.#loading.problem;
  }

  /** Reads the next part. */
  async readMore(): Promise<void> {
    const from = this.#next;
    if (from === null || this.isBusy) return;
    await this.#loading.load(async (signal) => {
      const part = await fetchPart(this.#address, this.#span, { path: this.path, from }, signal);
      this.text += part.text;
      this.#next = part.next ?? null;
    });
  }
}
