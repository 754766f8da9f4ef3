import { expect, test } from 'vitest';

import { firstLine } from './preview';

test.each([
  ['refund me\ntwice', 'refund me'],
  ['  \n refund me', 'refund me'],
  ['[{"role":"user","parts":[{"type":"text","content":"Warum \\"so\\" hoch?"}]}]', 'Warum "so" hoch?'],
  ['[{"role":"user","content":"one"},{"role":"user","content":"two\\nthree"}]', 'two'],
  ['[{"role":"assistant","parts":[{"type":"text","content":"cut off here", "mo…', 'cut off here'],
  ['[{"role":"assistant","parts":[{"type":"text","content":"cut off in the te…', 'cut off in the te…'],
  ['[{"role":"user","content":"cut in an escape \\u00', 'cut in an escape '],
  ['{"city":"Kyoto","text_id":1}', '{"city":"Kyoto","text_id":1}'],
  ['', ''],
])('the line of %j', (text, line) => {
  expect(firstLine(text)).toBe(line);
});
