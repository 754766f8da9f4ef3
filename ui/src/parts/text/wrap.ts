/** Wraps a text into lines without the browser, because only visible lines are rendered. */

/** The width of the mark for a hidden character, in columns. */
const MARK = 8;
/** The maximum distance of a break at a space from the end of the line. */
const RAGGED = 24;

/**
 * Returns the offset of each line in UTF-16 units. A line ends after a line feed, at a space near its end, or when
 * it is full. Surrogate pairs are never split.
 */
export function wrap(text: string, columns: number): Int32Array {
  const width = Math.max(columns, 1);
  let starts = new Int32Array(Math.ceil(text.length / width) + 64);
  let count = 0;
  const add = (at: number): void => {
    if (count === starts.length) {
      const grown = new Int32Array(count * 2);
      grown.set(starts);
      starts = grown;
    }
    starts[count++] = at;
  };
  add(0);
  let column = 0;
  let start = 0;
  let space = -1;
  for (let at = 0; at < text.length;) {
    const code = text.codePointAt(at) ?? 0;
    const next = at + (code > 0xffff ? 2 : 1);
    if (code === 0x0a) {
      if (next < text.length) add(next);
      start = next;
      column = 0;
      space = -1;
      at = next;
      continue;
    }
    const taken = columnsOf(code);
    if (column + taken > width && at > start) {
      const isNear = space !== -1 && at - space <= RAGGED && space > start;
      start = isNear ? space : at;
      add(start);
      column = 0;
      for (let each = start; each < at; each += 1) column += columnsOf(text.charCodeAt(each));
      space = -1;
    }
    column += taken;
    if (code === 0x20) space = next;
    at = next;
  }
  return starts.subarray(0, count);
}

function columnsOf(code: number): number {
  if (code < 0x7f) return code >= 0x20 ? 1 : code === 0x09 ? 4 : MARK;
  if (code < 0xa1 || code === 0xad || (code >= 0x200b && code <= 0x200f) || code === 0xfeff) return MARK;
  if ((code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f) || code >= 0xe0000) return MARK;
  if (code >= 0xd800 && code <= 0xdfff) return MARK;
  return code >= 0x1100 ? 2 : 1;
}
