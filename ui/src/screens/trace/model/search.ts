/** Search within a trace: names, types, tools, models, agents, error texts and ids, ignoring case. */
import { positions, type Spans, type Texts } from './spans';

export interface Matches {
  /** Spans that match, ascending. */
  spans: Int32Array;
  /** 1 for each span that matches. */
  mask: Uint8Array;
}

/** Returns the spans with these ids. Unknown ids are ignored. */
export function matchesOf(spans: Spans, ids: Iterable<string>): Matches {
  const wanted = new Set(ids);
  const mask = Uint8Array.from(spans.ids, (id) => (wanted.has(id) ? 1 : 0));
  return { mask, spans: positions(mask) };
}

/** A span id, or the beginning or a part of one. */
const ID = /^[0-9a-f]{3,16}$/;

export class SpanSearch {
  readonly #spans: Spans;
  readonly #columns: { texts: Texts; lower: string[] }[];

  constructor(spans: Spans) {
    this.#spans = spans;
    this.#columns = [spans.name, spans.type, spans.tool, spans.model, spans.agent, spans.error].map((texts) => ({
      texts,
      lower: texts.values.map((value) => value.toLowerCase()),
    }));
  }

  /** Returns the spans that contain `text`; null if `text` is empty. */
  find(text: string): Matches | null {
    const wanted = text.trim().toLowerCase();
    if (wanted === '') return null;
    const { count, ids } = this.#spans;
    const mask = new Uint8Array(count);
    for (const { texts, lower } of this.#columns) {
      const hits = Uint8Array.from(lower, (value) => (value.includes(wanted) ? 1 : 0));
      if (!hits.includes(1)) continue;
      const { codes } = texts;
      for (let span = 0; span < count; span += 1) if (hits[codes[span] ?? -1] === 1) mask[span] = 1;
    }
    if (ID.test(wanted)) {
      for (let span = 0; span < count; span += 1) if (ids[span]?.includes(wanted) === true) mask[span] = 1;
    }
    return { mask, spans: positions(mask) };
  }
}
