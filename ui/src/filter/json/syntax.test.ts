import { expect, test } from 'vitest';

import { syntaxErrorIn } from './syntax';

const VALID = '{"a": [1, -2.5e3, true, null, {}, []],\n "b\\u00e9\\n": {"c": "x"}}';
const CHARACTERS = [...'{}[],:"a1.-e \\\n'];

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

test('every text with one character more, less or changed is JSON or has an error, as the parser says', () => {
  for (let at = 0; at <= VALID.length; at += 1) {
    const [before, after] = [VALID.slice(0, at), VALID.slice(at)];
    for (const character of ['', ...CHARACTERS]) {
      for (const text of [before + character + after, before + character + after.slice(1)]) {
        expect(syntaxErrorIn(text) === null, text).toBe(isJson(text));
      }
    }
  }
});

test('what stands before an error can be completed to JSON', () => {
  expect(syntaxErrorIn('{"op": "EQ",\n "key": nme}')).toEqual({ start: 21, end: 24 });
  expect(syntaxErrorIn('{"a": 1,}')).toEqual({ start: 8, end: 9 });
  expect(syntaxErrorIn('[1}')).toEqual({ start: 2, end: 3 });
  expect(syntaxErrorIn('{} {}')).toEqual({ start: 3, end: 4 });
  expect(syntaxErrorIn("{'a': 1}")).toEqual({ start: 1, end: 4 });
});

test('a text that breaks off has its error at its end', () => {
  for (let end = 0; end < VALID.length; end += 1) {
    const text = VALID.slice(0, end);
    const cut = syntaxErrorIn(text);
    expect(cut, text).not.toBeNull();
    expect(VALID.slice(cut?.start, end), text).not.toMatch(/[{}[\],:]\s*$/);
  }
});
