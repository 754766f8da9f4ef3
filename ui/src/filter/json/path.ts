/** Finds the range of the value at a JSON path in a text. */

export interface TextRange {
  start: number;
  end: number;
}

/**
 * Returns the range of the value at `path`, such as `$.conditions[1].value`. If the path goes deeper than the text,
 * this is the range of the deepest existing value. Returns null if the text is not valid JSON up to there.
 */
export function locate(text: string, path: string): TextRange | null {
  const scanner = new Scanner(text);
  try {
    return scanner.find(segments(path));
  } catch (error) {
    if (error instanceof Unreadable) return null;
    throw error;
  }
}

function segments(path: string): (string | number)[] {
  const found = path.matchAll(/\.([^.[\]]+)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]/g);
  return [...found].map(([, name, index, quoted]) =>
    index === undefined ? (name ?? (JSON.parse(`"${quoted ?? ''}"`) as string)) : Number(index),
  );
}

class Unreadable extends Error {}

class Scanner {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  find(path: (string | number)[]): TextRange {
    this.#space();
    const start = this.#at;
    const [segment, ...rest] = path;
    const inside = segment === undefined ? null : this.#enter(segment, rest);
    if (inside !== null) return inside;
    this.#at = start;
    this.#skip();
    return { start, end: this.#at };
  }

  /** Finds a member or an element of the current value; null if it does not exist. */
  #enter(segment: string | number, rest: (string | number)[]): TextRange | null {
    const open = typeof segment === 'string' ? '{' : '[';
    if (this.#text[this.#at] !== open) return null;
    this.#at += 1;
    for (let index = 0; ; index += 1) {
      this.#space();
      if (this.#text[this.#at] === '}' || this.#text[this.#at] === ']') return null;
      const name = typeof segment === 'string' ? this.#name() : index;
      if (name === segment) return this.find(rest);
      this.#space();
      this.#skip();
      this.#space();
      if (this.#text[this.#at] !== ',') return null;
      this.#at += 1;
    }
  }

  #name(): string {
    this.#space();
    const start = this.#at;
    this.#match(/"(?:[^"\\]|\\.)*"/y);
    const name = JSON.parse(this.#text.slice(start, this.#at)) as string;
    this.#match(/\s*:/y);
    return name;
  }

  /** Skips the current value. It counts brackets instead of recursing, so deep values do not overflow the stack. */
  #skip(): void {
    let depth = 0;
    do {
      this.#space();
      const token = this.#match(/[[{]|[\]}]|[,:]|"(?:[^"\\]|\\.)*"|[^\s[\]{},:"]+/y);
      if (token === '[' || token === '{') depth += 1;
      else if (token === ']' || token === '}') depth -= 1;
    } while (depth > 0);
  }

  #space(): void {
    this.#match(/\s*/y);
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (found === null) throw new Unreadable();
    this.#at = pattern.lastIndex;
    return found[0];
  }
}
