import { expect, test } from 'vitest';

import { formatRoute, linkTo, parseRoute } from './place';

test.each([
  [['traces'], { q: '{"op":"EQ"}', from: '-1h' }],
  [['trace', 'a/b?c#d'], {}],
  [['sessions', '%', 'é\u202e'], { find: 'a&b=c+d' }],
])('a place survives its address: %j %j', (path, params) => {
  const place = parseRoute(linkTo(path, params as Record<string, string>));
  expect(place.path).toEqual(path);
  expect(Object.fromEntries(place.params)).toEqual(params);
});

test('a badly encoded segment is taken as it is', () => {
  expect(parseRoute('#/trace/%zz').path).toEqual(['trace', '%zz']);
});

test('an empty hash is an empty path', () => {
  expect(parseRoute('').path).toEqual([]);
  expect(formatRoute([], new URLSearchParams())).toBe('#/');
});
