import { expect, test } from 'vitest';

import { COLUMNS, DEFAULT_SORT, nextSort, readSort, writeSort } from './columns';

test('every order survives its address', () => {
  for (const key of COLUMNS.flatMap((column) => column.sort ?? [])) {
    for (const ascending of [true, false]) expect(readSort(writeSort({ key, ascending }))).toEqual({ key, ascending });
  }
});

test.each([null, '', '-', 'name', '-nothing'])('%j is the default order', (text) => {
  expect(readSort(text)).toEqual(DEFAULT_SORT);
});

test('a heading sorts by the greatest first, then by the least', () => {
  const first = nextSort(DEFAULT_SORT, 'duration_ms');
  expect(first).toEqual({ key: 'duration_ms', ascending: false });
  expect(nextSort(first, 'duration_ms')).toEqual({ key: 'duration_ms', ascending: true });
});
