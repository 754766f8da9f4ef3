/** The visible rows of JSON: lines without a closed ancestor, and the lines of expanded long strings. */
import { Kind, type JsonLines } from './json-lines';

/** An expanded string with its lines. */
export interface OpenString {
  text: string;
  starts: Int32Array;
}

export interface JsonRows {
  /** The line of each row. */
  line: Int32Array;
  /** The line of the expanded string that a row shows; -1 for the JSON line itself. */
  part: Int32Array;
}

/** Returns the rows, restricted to the `wanted` lines if given. */
export function jsonRows(
  lines: JsonLines,
  closed: ReadonlySet<number>,
  open: ReadonlyMap<number, OpenString>,
  wanted: Uint8Array | null = null,
): JsonRows {
  const line: number[] = [];
  const part: number[] = [];
  for (let at = 0; at < lines.count; at += 1) {
    if (wanted?.[at] === 0) continue;
    line.push(at);
    part.push(-1);
    const parts = open.get(at)?.starts.length ?? 0;
    for (let each = 0; each < parts; each += 1) {
      line.push(at);
      part.push(each);
    }
    if (closed.has(at)) at = lines.last[at] ?? at;
  }
  return { line: Int32Array.from(line), part: Int32Array.from(part) };
}

/** Returns true if a line opens an object or a list. */
export function isOpening(lines: JsonLines, line: number): boolean {
  return lines.kind[line] === Kind.object || lines.kind[line] === Kind.array;
}

/** Returns the key of a line without quotation marks; null if the line has no key. */
export function keyOf(lines: JsonLines, line: number): string | null {
  const start = lines.keyStart[line] ?? -1;
  return start === -1 ? null : lines.text.slice(start + 1, (lines.keyEnd[line] ?? 0) - 1);
}

/** Returns 1 for each line whose key contains `text`, and for its descendants and ancestors. */
export function linesWithKey(lines: JsonLines, text: string): Uint8Array {
  const query = text.toLowerCase();
  const wanted = new Uint8Array(lines.count);
  /** The opening lines above the current one. */
  const above: number[] = [];
  let until = -1;
  for (let line = 0; line < lines.count; line += 1) {
    const depth = lines.depth[line] ?? 0;
    if (line > until && keyOf(lines, line)?.toLowerCase().includes(query) === true) {
      until = Math.min(lines.last[line] ?? line, lines.count - 1);
      for (const each of above.slice(0, depth)) {
        wanted[each] = 1;
        const last = lines.last[each] ?? lines.count;
        if (last < lines.count) wanted[last] = 1;
      }
    }
    if (line <= until) wanted[line] = 1;
    if (isOpening(lines, line)) above[depth] = line;
  }
  return wanted;
}

/** Returns the decoded string of a line; a truncated string is returned as written. */
export function stringOf(lines: JsonLines, line: number): string {
  const written = lines.text.slice(lines.start[line], lines.end[line]);
  try {
    return JSON.parse(written) as string;
  } catch {
    return written.slice(1);
  }
}
