import { describe, expect, test } from 'vitest';

import { wrap } from './wrap';

function lines(text: string, columns: number): string[] {
  const starts = wrap(text, columns);
  return [...starts].map((start, index) => text.slice(start, starts[index + 1] ?? text.length));
}

const PIECES = [
  'a',
  'word ',
  'longer words here ',
  '\n',
  '\n\n',
  '日本語',
  '😀',
  '\t',
  '\u202e',
  '\ud800',
  'x'.repeat(70),
  ' ',
];

describe.each([1, 2, 3, 4, 5, 6])('laws of lines, seed %d', (seed) => {
  let state = seed;
  const draw = (below: number): number => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
  const text = Array.from({ length: 120 }, () => PIECES[draw(PIECES.length)]).join('');

  test.each([1, 7, 40, 80])('of %d columns', (columns) => {
    const found = lines(text, columns);
    expect(found.join('')).toBe(text);
    for (const line of found) {
      expect(line.slice(0, -1)).not.toContain('\n');
      expect([...line.replace(/\n$/, '')].length).toBeLessThanOrEqual(Math.max(columns, 1));
    }
    found.forEach((line, index) => {
      const first = line.charCodeAt(0);
      const before = found[index - 1]?.charCodeAt((found[index - 1]?.length ?? 1) - 1) ?? 0;
      const isTorn = first >= 0xdc00 && first <= 0xdfff && before >= 0xd800 && before <= 0xdbff;
      expect(isTorn).toBe(false);
    });
  });
});

test('a line breaks at a space near its end, or else within a word', () => {
  expect(lines('the quick brown fox', 10)).toEqual(['the quick ', 'brown fox']);
  expect(lines('abcdefghijkl', 5)).toEqual(['abcde', 'fghij', 'kl']);
});

test('line feeds end lines, and one at the end begins none', () => {
  expect(lines('a\n\nb\n', 10)).toEqual(['a\n', '\n', 'b\n']);
  expect(lines('', 10)).toEqual(['']);
});

test('a megabyte without a line feed is many lines', () => {
  expect(wrap('x'.repeat(1_000_000), 100)).toHaveLength(10_000);
});
