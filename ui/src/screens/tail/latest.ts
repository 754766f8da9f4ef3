import type { TailTrace } from '../../api/tail';

/** Rows that are kept: the page forgets older ones, the service does not. */
export const MAX_ROWS = 500;

/** The latest traces, the newest first. A trace that arrives again takes the place of its earlier state. */
export class Latest {
  #rows: TailTrace[] = [];

  /** The traces, as a new array after every change. */
  get rows(): readonly TailTrace[] {
    return this.#rows;
  }

  /** Adds traces in the order of their arrival; returns how many are rows of their own. */
  add(arrived: readonly TailTrace[]): number {
    if (arrived.length === 0) return 0;
    const states = new Map<string, TailTrace>();
    for (const trace of arrived) states.set(trace.trace_id, trace);
    const previous = this.#rows.map((row) => {
      const state = states.get(row.trace_id);
      states.delete(row.trace_id);
      return state ?? row;
    });
    const added = [...states.values()].reverse();
    this.#rows = [...added, ...previous].slice(0, MAX_ROWS);
    return Math.min(added.length, MAX_ROWS);
  }

  /** Forgets all. */
  clear(): void {
    this.#rows = [];
  }
}
