/** A text of a span of which only a part may have been read. */
import { fetchPart, type TraceAddress } from '../../../api/trace';
import { Loading } from '../../../state/loading.svelte';

export class LongValue {
  readonly path: string;
  /** What was read of it. */
  text = $state.raw('');
  /** The size of the whole in UTF-8; null if it was read whole. */
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

  /** Whether more of it can be read. */
  get isCut(): boolean {
    return this.#next !== null;
  }

  /** Bytes that were read. */
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
