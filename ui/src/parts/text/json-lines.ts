/**
 * JSON as a flat list of lines, parsed without recursion: a value nested 10,000 levels deep has 20,000 lines.
 * Lines hold offsets into the text, not copies.
 */
export const Kind = { object: 0, array: 1, close: 2, string: 3, number: 4, word: 5 } as const;

export interface JsonLines {
  text: string;
  count: number;
  kind: Uint8Array;
  /** The depth; 0 at the top. */
  depth: Int32Array;
  /** The offset of the key of a member, including quotation marks; -1 without a key. */
  keyStart: Int32Array;
  keyEnd: Int32Array;
  /** The offset of the value; for an object or a list, of its opening bracket. */
  start: Int32Array;
  end: Int32Array;
  /** The line that closes an object or a list; `count` if the text ends first; the line itself for other values. */
  last: Int32Array;
}

const SPACE = /[ \t\n\r]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
/** A number at the end of a text that may be incomplete. */
const PARTIAL_NUMBER = /-?(?:\d+(?:\.\d*)?(?:[eE][+-]?\d*)?)?$/y;
const WORD = /true|false|null/y;

/** Returns the lines of a JSON text; null if it is invalid. If `isTruncated`, its end may be missing. */
export function readJson(text: string, isTruncated = false): JsonLines | null {
  try {
    return new Reader(text, isTruncated).read();
  } catch (error) {
    if (error instanceof NoJson) return null;
    throw error;
  }
}

class NoJson extends Error {}

class Reader {
  readonly #text: string;
  readonly #isTruncated: boolean;
  readonly #lines: number[][] = [[], [], [], [], [], [], []];
  /** The lines of the open objects and lists. */
  readonly #open: number[] = [];
  #at = 0;

  constructor(text: string, isTruncated: boolean) {
    this.#text = text;
    this.#isTruncated = isTruncated;
  }

  read(): JsonLines {
    let isEnd = this.#value(-1, -1);
    while (!isEnd && this.#open.length > 0) isEnd = this.#step();
    this.#match(SPACE);
    if (!isEnd && this.#at < this.#text.length) throw new NoJson();
    const [kind, depth, keyStart, keyEnd, start, end, last] = this.#lines.map((column) => Int32Array.from(column));
    const count = kind?.length ?? 0;
    for (const line of this.#open) if (last !== undefined) last[line] = count;
    const none = new Int32Array();
    return {
      text: this.#text,
      count,
      kind: Uint8Array.from(kind ?? none),
      depth: depth ?? none,
      keyStart: keyStart ?? none,
      keyEnd: keyEnd ?? none,
      start: start ?? none,
      end: end ?? none,
      last: last ?? none,
    };
  }

  /** Reads the next member of the open object or list, or its end. Returns true at the end of the text. */
  #step(): boolean {
    const opened = this.#open.at(-1) ?? 0;
    const isObject = this.#lines[0]?.[opened] === Kind.object;
    const isFirst = opened === (this.#lines[0]?.length ?? 0) - 1;
    this.#match(SPACE);
    if (this.#isAtEnd()) return true;
    if (this.#take(isObject ? '}' : ']')) {
      this.#open.pop();
      const lines = this.#lines[6];
      if (lines !== undefined) lines[opened] = this.#lines[0]?.length ?? 0;
      this.#add(Kind.close, -1, -1, this.#at - 1, this.#at);
      return false;
    }
    if (!isFirst && !this.#take(',')) throw new NoJson();
    if (!isObject) return this.#value(-1, -1);
    this.#match(SPACE);
    if (this.#isAtEnd()) return true;
    const keyStart = this.#at;
    if (!this.#string()) return true;
    const keyEnd = this.#at;
    this.#match(SPACE);
    if (this.#isAtEnd()) return true;
    if (!this.#take(':')) throw new NoJson();
    return this.#value(keyStart, keyEnd);
  }

  /** Reads a value, or the start of an object or list. Returns true at the end of the text. */
  #value(keyStart: number, keyEnd: number): boolean {
    this.#match(SPACE);
    if (this.#isAtEnd()) return true;
    const start = this.#at;
    if (this.#take('{')) this.#opens(Kind.object, keyStart, keyEnd);
    else if (this.#take('[')) this.#opens(Kind.array, keyStart, keyEnd);
    else if (this.#text[start] === '"') {
      const isWhole = this.#string();
      this.#add(Kind.string, keyStart, keyEnd, start, this.#at);
      return !isWhole;
    } else if (this.#isCutWord()) return true;
    else if (this.#match(NUMBER)) this.#add(Kind.number, keyStart, keyEnd, start, this.#at);
    else if (this.#match(WORD)) this.#add(Kind.word, keyStart, keyEnd, start, this.#at);
    else throw new NoJson();
    return false;
  }

  /** Reads a string. Returns true if it is complete; the last string of a truncated text may not be. */
  #string(): boolean {
    if (!this.#take('"')) throw new NoJson();
    for (; this.#at < this.#text.length; this.#at += 1) {
      const code = this.#text.charCodeAt(this.#at);
      if (code === 0x22) {
        this.#at += 1;
        return true;
      }
      if (code === 0x5c) {
        if (this.#match(ESCAPE)) this.#at -= 1;
        else if (this.#isTruncated && this.#text.length - this.#at < 6) this.#at = this.#text.length - 1;
        else throw new NoJson();
      } else if (code < 0x20) throw new NoJson();
    }
    if (!this.#isTruncated) throw new NoJson();
    return false;
  }

  /** Returns true if the text is truncated within a literal or a number. */
  #isCutWord(): boolean {
    if (!this.#isTruncated) return false;
    const rest = this.#text.slice(this.#at, this.#at + 5);
    const isLast = this.#at + rest.length === this.#text.length;
    return (isLast && ['true', 'false', 'null'].some((word) => word.startsWith(rest))) || this.#match(PARTIAL_NUMBER);
  }

  #opens(kind: number, keyStart: number, keyEnd: number): void {
    this.#add(kind, keyStart, keyEnd, this.#at - 1, this.#at);
    this.#open.push((this.#lines[0]?.length ?? 0) - 1);
  }

  #add(kind: number, ...[keyStart, keyEnd, start, end]: [number, number, number, number]): void {
    const line = this.#lines[0]?.length ?? 0;
    const values = [kind, this.#open.length, keyStart, keyEnd, start, end, line];
    this.#lines.forEach((column, index) => column.push(values[index] ?? 0));
  }

  #isAtEnd(): boolean {
    if (this.#at < this.#text.length) return false;
    if (!this.#isTruncated) throw new NoJson();
    return true;
  }

  #take(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }

  #match(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at;
    if (!pattern.test(this.#text)) return false;
    this.#at = pattern.lastIndex;
    return true;
  }
}
