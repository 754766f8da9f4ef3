import { expect, test } from 'vitest';

import { visible, visibleText } from './visible';

test('a plain text is one piece', () => {
  expect(visible('refund me twice\n\t✓ 日本')).toEqual([{ text: 'refund me twice\n\t✓ 日本', isMark: false }]);
  expect(visible('')).toEqual([{ text: '', isMark: false }]);
});

test('emoji stay whole', () => {
  expect(visibleText('👩‍💻 ❤️‍🔥 👩🏽‍💻')).toBe('👩‍💻 ❤️‍🔥 👩🏽‍💻');
  expect(visibleText('a\u200Db')).toBe('aU+200Db');
});

test('what hides is shown', () => {
  expect(visibleText('a\u202Eb')).toBe('aU+202Eb');
  expect(visibleText('a\u200Bb')).toBe('aU+200Bb');
  expect(visibleText('\uD800x')).toBe('U+D800x');
  expect(visibleText('\u0000')).toBe('U+0000');
  expect(visibleText('\u{E0041}')).toBe('U+E0041');
});

test('combining marks are shown up to a limit', () => {
  const most = `a${'\u0301'.repeat(16)}`;
  expect(visible(most)).toEqual([{ text: most, isMark: false }]);
  expect(visibleText(`${most}${'\u0302'.repeat(9_984)}b`)).toBe(`${most}+9984 combining marksb`);
});

test('the pieces hold the whole text', () => {
  const text = 'x\u202Ey\u200Fz';
  expect(visible(text).map((piece) => piece.isMark)).toEqual([false, true, false, true, false]);
});
