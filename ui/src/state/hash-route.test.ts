import { expect, test } from 'vitest';

import { formatRoute, linkTo, parseRoute } from './hash-route';

test.each([
  [['traces'], { q: '{"op":"EQ"}', from: '-1h' }],
  [['trace', 'a/b?c#d'], {}],
  [['sessions', '%', 'é\u202e'], { find: 'a&b=c+d' }],
])('a route survives its address: %j %j', (path, params) => {
  const route = parseRoute(linkTo(path, params as Record<string, string>));
  expect(route.path).toEqual(path);
  expect(Object.fromEntries(route.params)).toEqual(params);
});

test('a badly encoded segment is taken as it is', () => {
  expect(parseRoute('#/trace/%zz').path).toEqual(['trace', '%zz']);
});

test('an empty hash is an empty path', () => {
  expect(parseRoute('').path).toEqual([]);
  expect(formatRoute([], new URLSearchParams())).toBe('#/');
});
