import { expect, test } from 'vitest';

import { readJson, type JsonLines } from './json-lines';
import { jsonRows, keyOf, linesWithKey, stringOf } from './json-rows';
import { wrap } from './wrap';

const VALUE = { a: { model: 'x', tokens: { input: 1 } }, list: [{ model: 'y' }, 2], text: 'line\nfeed "é"' };
const lines = readJson(JSON.stringify(VALUE)) as JsonLines;
const none = new Set<number>();

function keys(wanted: Uint8Array | null, closed: ReadonlySet<number> = none): (string | null)[] {
  return [...jsonRows(lines, closed, new Map(), wanted).line].map((line) => keyOf(lines, line));
}

test('all lines have a row', () => {
  expect(jsonRows(lines, none, new Map()).line).toHaveLength(lines.count);
});

test('what is closed has one row', () => {
  const line = [...Array(lines.count).keys()].find((each) => keyOf(lines, each) === 'a') ?? -1;
  expect(keys(null, new Set([line]))).toEqual([null, 'a', 'list', null, 'model', null, null, null, 'text', null]);
});

test('a key is found with its ancestors and its value', () => {
  expect(keys(linesWithKey(lines, 'MODEL'))).toEqual([
    null,
    'a',
    'model',
    null,
    'list',
    null,
    'model',
    null,
    null,
    null,
  ]);
  expect(keys(linesWithKey(lines, 'token'))).toEqual([null, 'a', 'tokens', 'input', null, null, null]);
  expect(keys(linesWithKey(lines, 'nowhere'))).toEqual([]);
});

test('a text that is cut is filtered as well', () => {
  const cut = readJson('{"a": {"model": "x", "b": [1', true) as JsonLines;
  expect([...linesWithKey(cut, 'b')]).toEqual([1, 1, 0, 1]);
});

test('an open string has a row for each of its lines', () => {
  const line = [...Array(lines.count).keys()].find((each) => keyOf(lines, each) === 'text') ?? -1;
  const text = stringOf(lines, line);
  expect(text).toBe(VALUE.text);
  const rows = jsonRows(lines, none, new Map([[line, { text, starts: wrap(text, 80) }]]));
  expect([...rows.part].filter((part) => part !== -1)).toEqual([0, 1]);
});

test('a string that is cut is shown as it is written', () => {
  const cut = readJson('["a\\"b', true) as JsonLines;
  expect(stringOf(cut, 1)).toBe('a\\"b');
});
