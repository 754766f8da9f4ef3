/** The text format of Prometheus, read by line. */

/** The samples of one name, each with its labels. */
export type Metrics = ReadonlyMap<string, { labels: Record<string, string>; value: number }[]>;

/** Returns the samples in a text of the Prometheus format. Invalid lines are ignored. */
export function parseMetrics(text: string): Metrics {
  const metrics = new Map<string, { labels: Record<string, string>; value: number }[]>();
  for (const line of text.split('\n')) {
    const [, name, labels, value] =
      /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? ([-+\d.eE]+|NaN|[-+]?Inf)(?: \d+)?$/.exec(line) ?? [];
    if (name === undefined || value === undefined) continue;
    const sample = { labels: parseLabels(labels ?? ''), value: Number(value.replace('Inf', 'Infinity')) };
    metrics.set(name, [...(metrics.get(name) ?? []), sample]);
  }
  return metrics;
}

function parseLabels(text: string): Record<string, string> {
  const pairs = [...text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)];
  return Object.fromEntries(pairs.map(([, name = '', value = '']) => [name, unescape(value)]));
}

function unescape(value: string): string {
  return value.replace(/\\(.)/g, (_, character: string) => (character === 'n' ? '\n' : character));
}
