import { execFileSync } from 'node:child_process';

import { expect, test } from 'vitest';

import { curlCommand } from './curl';

test('the token is named, never written', () => {
  expect(curlCommand('http://a/traces/1', true)).toBe(
    `curl -sS -H "Authorization: Bearer $SPANWISE_TOKEN" 'http://a/traces/1'`,
  );
  expect(curlCommand('http://a/traces/1', false)).toBe(`curl -sS 'http://a/traces/1'`);
});

test.each(["http://a/traces/x'; rm -rf y; '", 'http://a/$(id)?a=1&b=`id`', "'"])('a shell sees one word: %s', (url) => {
  const command = curlCommand(url, false).replace('curl -sS', 'printf %s');
  expect(execFileSync('sh', ['-c', command]).toString()).toBe(url);
});
