/** Finds the first syntax error of a JSON text. Not every browser reports the position in `JSON.parse` errors. */
import type { TextRange } from './path';

const SPACE = /[ \t\n\r]*/y;
const WORD = /[^\s,:[\]{}]*/y;
const TOKEN =
  // eslint-disable-next-line no-control-regex -- JSON does not take them in a text
  /(?:([{}[\],:])|("(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")|(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-]))/y;

type Expected = 'value' | 'element' | 'name' | 'member' | 'colon' | 'more' | 'nothing';

/** Returns the first unexpected token, or the end of the text; null if the text is valid JSON. */
export function syntaxErrorIn(text: string): TextRange | null {
  const open: string[] = [];
  let expected: Expected = 'value';
  let at = 0;
  for (;;) {
    const start = endOf(SPACE, text, at);
    if (start === text.length) return expected === 'nothing' ? null : { start, end: start + 1 };
    TOKEN.lastIndex = start;
    const found = TOKEN.exec(text);
    const token = found === null ? 'none' : (found[1] ?? (found[2] === undefined ? 'literal' : 'text'));
    const next: Expected | null = step(expected, token, open);
    if (next === null) return { start, end: Math.max(start + 1, endOf(WORD, text, start)) };
    expected = next;
    at = TOKEN.lastIndex;
  }
}

function endOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  pattern.exec(text);
  return pattern.lastIndex;
}

/** Returns the tokens allowed after a token; null if the token itself is not allowed. */
function step(expected: Expected, token: string, open: string[]): Expected | null {
  const after = (): Expected => (open.length === 0 ? 'nothing' : 'more');
  switch (expected) {
    case 'value':
    case 'element':
      if (token === '{' || token === '[') {
        open.push(token);
        return token === '{' ? 'member' : 'element';
      }
      if (token === 'text' || token === 'literal') return after();
      return expected === 'element' && token === ']' ? close(open, '[', after) : null;
    case 'name':
    case 'member':
      if (token === 'text') return 'colon';
      return expected === 'member' && token === '}' ? close(open, '{', after) : null;
    case 'colon':
      return token === ':' ? 'value' : null;
    case 'more':
      if (token === ',') return open.at(-1) === '{' ? 'name' : 'value';
      return token === '}' || token === ']' ? close(open, token === '}' ? '{' : '[', after) : null;
    case 'nothing':
      return null;
  }
}

function close(open: string[], by: string, after: () => Expected): Expected | null {
  return open.pop() === by ? after() : null;
}
