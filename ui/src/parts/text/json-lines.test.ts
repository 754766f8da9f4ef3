import { describe, expect, test } from 'vitest';

import { Kind, readJson, type JsonLines } from './json-lines';

/** Writes a JSON text from its lines. */
function write(lines: JsonLines): string {
  const { text } = lines;
  return Array.from({ length: lines.count }, (_, line) => {
    const key = lines.keyStart[line] === -1 ? '' : `${text.slice(lines.keyStart[line], lines.keyEnd[line])}:`;
    const next = line + 1;
    const isOpening = lines.kind[line] === Kind.object || lines.kind[line] === Kind.array;
    const isLast = next === lines.count || lines.kind[next] === Kind.close || isOpening;
    return key + text.slice(lines.start[line], lines.end[line]) + (isLast ? '' : ',');
  }).join('');
}

function drawing(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
}

function randomValue(draw: (below: number) => number, depth: number): unknown {
  const kind = draw(depth > 4 ? 4 : 6);
  if (kind === 0) return draw(1000) - 500.5;
  if (kind === 1) return ['a"b\\', 'line\nfeed', '\u2028é😀', '', '}],:'][draw(5)];
  if (kind === 2) return [true, false, null][draw(3)];
  if (kind === 3) return draw(10) * 1e20;
  const count = draw(4);
  if (kind === 4) return Array.from({ length: count }, () => randomValue(draw, depth + 1));
  return Object.fromEntries(
    Array.from({ length: count }, (_, index) => [`k"${String(index)}`, randomValue(draw, depth + 1)]),
  );
}

describe.each(Array.from({ length: 60 }, (_, seed) => seed + 1))('laws of lines, seed %d', (seed) => {
  const draw = drawing(seed);
  const value = randomValue(draw, 0);
  const text = JSON.stringify(value, null, draw(3));

  test('they hold the whole value', () => {
    const lines = readJson(text);
    expect(lines).not.toBeNull();
    if (lines !== null) expect(JSON.parse(write(lines))).toEqual(value);
  });

  test('what opens is closed at its own depth', () => {
    const lines = readJson(text);
    for (let line = 0; line < (lines?.count ?? 0); line += 1) {
      const last = lines?.last[line] ?? -1;
      expect(last).toBeGreaterThanOrEqual(line);
      expect(lines?.depth[last]).toBe(lines?.depth[line]);
      for (let within = line + 1; within < last; within += 1) {
        expect(lines?.depth[within]).toBeGreaterThan(lines?.depth[line] ?? 0);
      }
    }
  });

  test('a text that is cut anywhere has the lines that are whole', () => {
    const whole = readJson(text)?.count ?? 0;
    for (let at = 0; at <= text.length; at += 1) {
      const lines = readJson(text.slice(0, at), true);
      expect(lines).not.toBeNull();
      expect(lines?.count).toBeLessThanOrEqual(whole);
    }
  });

  test('a text is read if and only if it is JSON', () => {
    for (let times = 0; times < 30; times += 1) {
      const at = draw(text.length + 1);
      const changed =
        text.slice(0, at) + ['', ',', '}', ']', '"', '\\', 'x', '\n', '0', ':'][draw(10)] + text.slice(at + draw(2));
      let isJson = true;
      try {
        JSON.parse(changed);
      } catch {
        isJson = false;
      }
      expect(readJson(changed) !== null, changed).toBe(isJson);
    }
  });
});

test.each([
  '',
  ' ',
  '{',
  '[1',
  '"a',
  '01',
  '+1',
  'nul',
  '[1,]',
  '{"a":}',
  '{"a" 1}',
  "{'a':1}",
  '{}{}',
  '"\t"',
  '"\\x"',
])('%j is no JSON', (text) => {
  expect(readJson(text)).toBeNull();
});

test('10,000 levels and a string of megabytes are no problem', () => {
  const deep = '[{"a":'.repeat(10_000);
  expect(readJson(deep)).toBeNull();
  expect(readJson(deep, true)?.count).toBe(20_000);
  expect(readJson(`${'['.repeat(10_000)}${']'.repeat(10_000)}`)?.count).toBe(20_000);
  expect(readJson(JSON.stringify({ a: 'x\\y"'.repeat(1_000_000) }))?.count).toBe(3);
});
