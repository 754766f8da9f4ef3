import { expect, test } from 'vitest';

import { fromField, toField, type Zone } from './local-time';

test.each(['utc', 'local'] as Zone[])('an instant survives its field: %s', (zone) => {
  for (const instant of ['2026-11-22T16:27:14.000Z', '2026-03-29T00:59:59.999Z', '1969-12-31T23:00:00.000Z']) {
    expect(fromField(toField(instant, zone), zone)).toBe(instant);
  }
});

test('an input has no zone, and no milliseconds if they are zero', () => {
  expect(toField('2026-11-22T16:27:14Z', 'utc')).toBe('2026-11-22T16:27:14');
  expect(toField('soon', 'utc')).toBe('');
  expect(fromField('', 'utc')).toBeNull();
});
