/** Values by which similar traces can be found: fields of the trace, and fields and attributes of a span. */
import type { SpanDetail, TraceHead } from '../../../api/trace';
import { Kind, type JsonLines } from '../../../parts/text/json-lines';
import { keyOf, stringOf } from '../../../parts/text/json-rows';
import type { Spans } from './spans';

export const FIELDS = ['agent_id', 'team_id', 'workflow_id', 'session_id', 'user_id', 'run_id', 'name'] as const;

/** Returns the field of the trace that has this value; null if none has it. */
export function fieldOf(head: TraceHead, value: unknown): string | null {
  if (typeof value !== 'string' || value === '') return null;
  return FIELDS.find((field) => head[field] === value) ?? null;
}

export interface SpanValue {
  /** The key of the field inside `SPAN`. */
  field: 'name' | 'tool_name' | 'model';
  label: string;
  value: string;
}

/** The maximum length of a linked key or value in UTF-16 units, because the length of an address is limited. */
export const LONGEST = 300;

/** Returns the fields for similar spans: name, tool and model, if present. */
export function valuesOfSpan(spans: Spans, span: number): SpanValue[] {
  const values = [
    { field: 'name', label: 'Name', value: spans.name.at(span) },
    { field: 'tool_name', label: 'Tool', value: spans.tool.at(span) },
    { field: 'model', label: 'Model', value: spans.model.at(span) },
  ] as const;
  return values.flatMap(({ value, ...field }) => (value && value.length <= LONGEST ? [{ ...field, value }] : []));
}

/** The key of a line as in filters inside `SPAN`: `attributes.<key>`, `resource.<key>`, or a field. */
export interface LineValue {
  field: string;
  value: string | number | boolean;
}

/** Returns everything recorded of a span except texts and events as one object, attributes first. */
export function recordedOf({ metadata, extra_data: extra }: SpanDetail): Record<string, unknown> {
  const { attributes, ...others } = extra ?? {};
  return { ...metadata, ...attributes, ...others, events: undefined };
}

/**
 * Returns the short attribute values of a span and its resource, by their lines in the result of `recordedOf`.
 * Lists, maps, and numbers that JSON writes as texts or rounds cannot be compared.
 */
export function lineValues(lines: JsonLines, { metadata, extra_data: extra }: SpanDetail): Map<number, LineValue> {
  const { attributes = {}, ...others } = extra ?? {};
  const found = new Map<number, LineValue>();
  const path: string[] = [];
  for (let line = 0; line < lines.count; line += 1) {
    const depth = lines.depth[line] ?? 0;
    const key = keyIn(lines, line);
    if (depth > 3 || key === null) continue;
    path[depth] = key;
    let field: string | null = null;
    if (depth === 1 && !Object.hasOwn(others, key)) {
      if (Object.hasOwn(attributes, key)) field = `attributes.${key}`;
      else if (key === 'provider' && metadata?.[key] !== undefined) field = key;
    } else if (depth === 3 && path[1] === 'resource' && path[2] === 'attributes' && others.resource !== undefined) {
      field = `resource.${key}`;
    }
    const value = field === null || field.length > LONGEST ? null : comparable(lines, line);
    if (field !== null && value !== null) found.set(line, { field, value });
  }
  return found;
}

function keyIn(lines: JsonLines, line: number): string | null {
  const written = keyOf(lines, line);
  return written === null ? null : (JSON.parse(`"${written}"`) as string);
}

/** Returns the value of a line if it is short and usable in a filter; otherwise null. */
function comparable(lines: JsonLines, line: number): LineValue['value'] | null {
  const [start, end] = [lines.start[line] ?? 0, lines.end[line] ?? 0];
  switch (lines.kind[line]) {
    case Kind.string: {
      const text = end - start > LONGEST ? null : stringOf(lines, line);
      return text === 'NaN' || text === 'Infinity' || text === '-Infinity' ? null : text;
    }
    case Kind.number: {
      const number = Number(lines.text.slice(start, end));
      return Number.isInteger(number) && !Number.isSafeInteger(number) ? null : number;
    }
    case Kind.word: {
      const word = lines.text.slice(start, end);
      return word === 'null' ? null : word === 'true';
    }
    default:
      return null;
  }
}
