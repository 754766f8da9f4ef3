import { expect, test } from 'vitest';

import { parseMetrics } from './prometheus';

test('samples are found by name, with their labels', () => {
  const metrics = parseMetrics(
    '# HELP a Something.\n# TYPE a gauge\na{db_id="x",kind="q\\"u\\\\o\\nte"} 3\na{db_id="y"} 1e3\nb 0.5\n\nbroken line\n',
  );
  expect(metrics.get('a')).toEqual([
    { labels: { db_id: 'x', kind: 'q"u\\o\nte' }, value: 3 },
    { labels: { db_id: 'y' }, value: 1000 },
  ]);
  expect(metrics.get('b')).toEqual([{ labels: {}, value: 0.5 }]);
  expect([...metrics.keys()]).toEqual(['a', 'b']);
});
