import { expect, test } from 'vitest';

import { messageText } from './message-text';

test.each([
  ['Where is my order?', 'Where is my order?'],
  ['[1, 2]', '[1, 2]'],
  ['{"city": "Kyoto"}', '{"city": "Kyoto"}'],
  ['[broken', '[broken'],
  ['[{"role":"system","content":"Help."},{"role":"user","content":"Hi"}]', 'Hi'],
  ['{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]}', 'a\nb'],
  ['[{"role":"user","parts":[{"type":"text","content":"Why?"}]}]', 'Why?'],
  ['[{"role":"user","content":"Hi"},{"role":"assistant","content":"","tool_calls":[]}]', 'Hi'],
  ['{"role":"assistant","content":"Done."}', 'Done.'],
  ['null', 'null'],
  ['[null, {"role": null}]', '[null, {"role": null}]'],
])('%s says %s', (text, said) => {
  expect(messageText(text)).toBe(said);
});
