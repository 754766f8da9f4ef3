import { expect, test } from 'vitest';

import { locate } from './path';

const FILTER = {
  op: 'AND',
  conditions: [
    { op: 'EQ', key: 'na"me', value: 'a ] } , : "b"' },
    { op: 'NOT', condition: { op: 'IN', key: 'duration_ms', values: [1, -2.5e3, true, null, []] } },
  ],
};

/** Every path of a value, with the value. */
function* paths(value: unknown, path = '$'): Generator<[string, unknown]> {
  yield [path, value];
  if (Array.isArray(value)) {
    for (const [index, each] of value.entries()) yield* paths(each, `${path}[${String(index)}]`);
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, each] of Object.entries(value)) yield* paths(each, `${path}.${name}`);
  }
}

test.each([undefined, 2, '\t'])('the text at a path is the JSON of the value there; indented by %j', (indent) => {
  const text = ` ${JSON.stringify(FILTER, null, indent)}\n`;
  for (const [path, value] of paths(FILTER)) {
    const range = locate(text, path);
    expect(range, path).not.toBeNull();
    expect(JSON.parse(text.slice(range?.start, range?.end)), path).toEqual(value);
  }
});

test('a path that leads further than the text ends at the last value on the way', () => {
  const text = JSON.stringify(FILTER);
  const last = locate(text, '$.conditions[1]');
  expect(locate(text, '$.conditions[1].value')).toEqual(last);
  expect(locate(text, '$.conditions[1].value[3]')).toEqual(last);
  expect(locate(text, '$.conditions[9]')).toEqual(locate(text, '$.conditions'));
  expect(locate('{}', '$.a.b')).toEqual({ start: 0, end: 2 });
});

test('a member that stands twice is found where it stands first', () => {
  expect(locate('{"a":1,"a":2}', '$.a')).toEqual({ start: 5, end: 6 });
});

test.each(['', '{', '{"a"', '[1,', '{"a":'])('%j has no place for a path behind its end', (text) => {
  expect(locate(text, '$.a')).toBeNull();
});

test('a value that is 100,000 deep is passed over', () => {
  const deep = '['.repeat(100_000) + ']'.repeat(100_000);
  expect(locate(`{"deep": ${deep}, "a": 1}`, '$.a')).toEqual({ start: 200_016, end: 200_017 });
});
