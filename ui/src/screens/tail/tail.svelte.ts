import { isAbort } from '../../api/error';
import { tail, type TailEvent, type TailTrace } from '../../api/tail';
import type { Expression } from '../../filter/expression';
import { announcer } from '../../state/announcer.svelte';
import { Latest } from './latest';

/** The interval between updates of the list in milliseconds: at most ten a second. */
const PAINT_MS = 100;
/** The first and the maximum wait before a reconnection, in milliseconds. The wait doubles each time. */
const RETRY_MS = [500, 15_000] as const;
/** The maximum number of traces buffered while the list is paused. */
const MAX_WAITING = 500;

export type TailState = 'connecting' | 'live' | 'waiting' | 'ended';

/** The live tail of one filter: its stream, the latest traces, and the number of missed ones. */
export class Tail {
  rows = $state.raw<readonly TailTrace[]>([]);
  state = $state<TailState>('connecting');
  paused = $state(false);
  /** Why the stream ended or is interrupted, or null. */
  problem = $state.raw<unknown>(null);
  /** Traces since the beginning, without updates. */
  seen = $state(0);
  /** The number of traces that this page was too slow to receive. */
  missed = $state(0);
  /** True if an unknown number of further traces is missing. */
  hasGap = $state(false);
  /** The traces that arrived during a pause. */
  waiting = $state(0);

  #latest = new Latest();
  #arrived: TailTrace[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #onAdded: (rows: number) => void;
  #position: string | null = null;

  /** `onAdded` receives the number of rows inserted at the top, before they are painted. */
  constructor(onAdded: (rows: number) => void) {
    this.#onAdded = onAdded;
  }

  /** Follows a filter until `signal` is aborted, and reconnects after interruptions. */
  async follow(filter: Expression | null, store: string | null, signal: AbortSignal): Promise<void> {
    let wait: number = RETRY_MS[0];
    while (!signal.aborted) {
      const ended = await this.#read(filter, store, signal, () => (wait = RETRY_MS[0]));
      if (ended || signal.aborted) return;
      this.state = 'waiting';
      await new Promise((resolve) => setTimeout(resolve, wait));
      wait = Math.min(wait * 2, RETRY_MS[1]);
    }
  }

  /** Clears the list; the stream continues. */
  clear(): void {
    this.#latest.clear();
    this.#arrived = [];
    this.rows = [];
    this.seen = this.missed = this.waiting = 0;
    this.hasGap = false;
  }

  pause(paused: boolean): void {
    this.paused = paused;
    if (!paused) this.#paint();
  }

  /** Reads one connection. Returns true if the client must not reconnect. */
  async #read(
    filter: Expression | null,
    store: string | null,
    signal: AbortSignal,
    onLive: () => void,
  ): Promise<boolean> {
    try {
      for await (const event of tail({ filter, store, after: this.#position }, signal)) {
        onLive();
        if (this.#take(event)) return true;
      }
      return signal.aborted;
    } catch (error) {
      if (isAbort(error) || signal.aborted) return true;
      this.problem = error;
      const status = (error as { status?: number }).status ?? 0;
      if (status === 0 || status === 503) return false;
      this.state = 'ended';
      return true;
    }
  }

  /** Handles an event. Returns true if it is the last one of the stream. */
  #take(event: TailEvent): boolean {
    if (event.kind !== 'end') this.#position = event.id;
    switch (event.kind) {
      case 'started':
        if (this.state === 'waiting' && !event.resumed) this.hasGap = true;
        this.state = 'live';
        this.problem = null;
        return false;
      case 'trace':
        if (event.trace.update !== true) this.seen += 1;
        this.#arrived.push(event.trace);
        this.#timer ??= setTimeout(() => this.#paint(), PAINT_MS);
        return false;
      case 'dropped':
        this.missed += event.count;
        return false;
      case 'gap':
        this.hasGap = true;
        return false;
      case 'end':
        return this.#end(event.reason);
    }
  }

  #end(reason: string): boolean {
    if (reason === 'shutdown' || reason === 'failed') return false;
    this.state = 'ended';
    const texts: Record<string, string> = {
      token_expired: 'The token has expired: sign in again.',
      unauthorized: 'The token is no longer accepted: sign in again.',
      replaced: 'This stream was taken up elsewhere.',
    };
    this.problem = new Error(texts[reason] ?? `The stream ended: ${reason}.`);
    announcer.say('The live tail ended');
    return true;
  }

  #paint(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.paused) {
      this.#arrived = this.#arrived.slice(-MAX_WAITING);
      this.waiting = this.#arrived.length;
      return;
    }
    const added = this.#latest.add(this.#arrived);
    this.#arrived = [];
    this.waiting = 0;
    this.#onAdded(added);
    this.rows = this.#latest.rows;
  }
}
