/** Made-up traces for tests. */
import type { CodedColumn, SpanColumns } from '../../../../api/trace';
import { drawing } from '../../../../testing/drawing';
import { Spans } from '../spans';

export interface Given {
  parent: number[];
  name?: string[];
  type?: string[];
  error?: (string | null)[];
  model?: (string | null)[];
  start?: number[];
  duration?: (number | null)[];
  cost?: (number | null)[];
}

/** Returns the spans of a trace with defaults for omitted members. */
export function spansOf(given: Given): Spans {
  const count = given.parent.length;
  const zeros = new Array<number>(count).fill(0);
  const columns: SpanColumns = {
    span_id: given.parent.map((_, span) => span.toString(16).padStart(16, '0')),
    parent: given.parent,
    start_us: given.start ?? zeros,
    duration_us: given.duration ?? new Array<number>(count).fill(1),
    type: coded(given.type ?? new Array<string>(count).fill('LLM')),
    name: coded(given.name ?? new Array<string>(count).fill('span')),
    model: coded(given.model ?? new Array<null>(count).fill(null)),
    tool: coded(new Array<null>(count).fill(null)),
    agent: coded(new Array<null>(count).fill(null)),
    error: coded(given.error ?? new Array<null>(count).fill(null)),
    input_tokens: zeros,
    output_tokens: zeros,
    cached_tokens: zeros,
    reasoning_tokens: zeros,
    cost: given.cost ?? zeros,
    input_bytes: zeros,
    output_bytes: zeros,
    events: zeros,
    links: zeros,
  };
  return new Spans(columns);
}

/** Returns a trace of a random shape, with repeats, framework spans and errors. */
export function randomSpans(seed: number, count = 60): Spans {
  const draw = drawing(seed);
  const parent: number[] = [];
  for (let span = 0; span < count; span += 1) {
    let above = span - 1;
    while (above >= 0 && draw(5) > 1) above = parent[above] ?? -1;
    parent.push(above);
  }
  const of = <T>(values: T[]) => parent.map(() => values[draw(values.length)] as T);
  return spansOf({
    parent,
    name: of(['chat', 'chat', 'find_order']),
    type: of(['LLM', 'TOOL', 'CHAIN', 'UNKNOWN', 'AGENT']),
    error: of([null, null, null, null, null, null, 'no such order']),
    model: of(['gpt-4.1', 'unheard-of', null]),
    start: parent.map(() => draw(1000)),
    duration: parent.map(() => (draw(10) === 0 ? null : draw(500))),
  });
}

function coded(texts: (string | null)[]): CodedColumn {
  const values = [...new Set(texts.filter((text) => text !== null))];
  return { values, codes: texts.map((text) => (text === null ? -1 : values.indexOf(text))) };
}
