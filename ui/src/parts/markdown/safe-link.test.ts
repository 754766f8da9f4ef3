import { expect, test } from 'vitest';

import { safeLink } from './safe-link';

test.each([
  ['https://example.com/a?b#c', 'example.com'],
  ['HTTP://user:word@example.com:8080/', 'example.com:8080'],
  ['https://аpple.com/', 'xn--pple-43d.com'],
  [' https://example.com', 'example.com'],
])('%s leads to %s', (address, host) => {
  expect(safeLink(address)?.host).toBe(host);
});

test.each([
  'javascript:alert(1)',
  ' java\nscript:alert(1)',
  'data:text/html,<script>alert(1)</script>',
  'vbscript:x',
  'file:///etc/passwd',
  'blob:https://a/b',
  '//example.com',
  '/traces',
  '#/traces',
  'mailto:a@b',
  '',
])('%j is no link', (address) => {
  expect(safeLink(address)).toBeNull();
});
