/** The requests of the charts over time, and the series in their responses. */
import type { AggregateRequest, Aggregates, Measure, GroupNumbers } from '../../../api/aggregate';

export const CHARTS = { runs: 'Traces', errors: 'Errors', latency: 'Latency', tokens: 'Tokens' } as const;
export type Chart = keyof typeof CHARTS;

/** The fields by which a chart can be split. */
export const SPLITS = [
  'agent_id',
  'team_id',
  'workflow_id',
  'user_id',
  'name',
  'service',
  'environment',
  'release',
] as const;

const BUCKETS = 60;
/** The number of values with their own series; all others share one. */
const MAX_VALUES = 8;

const FAILED = { op: 'EQ', key: 'status', value: 'ERROR' } as const;
const MEASURES: Record<Chart, Measure[]> = {
  runs: [{ name: 'failed', op: 'COUNT', where: FAILED }],
  errors: [{ name: 'failed', op: 'COUNT', where: FAILED }],
  latency: [
    { name: 'p50', op: 'QUANTILE', key: 'duration_ms', q: 0.5 },
    { name: 'p95', op: 'QUANTILE', key: 'duration_ms', q: 0.95 },
  ],
  tokens: [
    { name: 'input', op: 'SUM', key: 'input_tokens' },
    { name: 'output', op: 'SUM', key: 'output_tokens' },
  ],
};

/** Every chart counts traces, to detect outlying buckets. */
const ALL: Measure = { name: 'count', op: 'COUNT' };

/** Returns the chart in an address; the chart of traces if it is invalid. */
export function readChart(text: string | null): Chart {
  return text !== null && Object.hasOwn(CHARTS, text) ? (text as Chart) : 'runs';
}

/** Returns the split in an address; null if it is invalid. */
export function readSplit(text: string | null): string | null {
  return (SPLITS as readonly (string | null)[]).includes(text) ? text : null;
}

/** Returns the request of a chart, without filter, store and range. */
export function requestOf(chart: Chart, by: string | null): Pick<AggregateRequest, 'by' | 'measures'> {
  const measures = [...MEASURES[chart], ALL];
  if (by === null) return { measures };
  return { measures, by: [{ key: by, limit: MAX_VALUES }] };
}

export const TIME_BUCKETS = BUCKETS;

/** Returns the number of traces of each bucket. */
export function countsOf({ data: { time, groups, other } }: Aggregates): number[] {
  const parts: GroupNumbers[] = other === undefined ? groups : [...groups, other];
  return (time?.starts ?? []).map((_start, index) =>
    parts.reduce((sum, part) => sum + (part.series?.[ALL.name]?.[index] ?? 0), 0),
  );
}

export interface Series {
  name: string;
  /** Its colour variable. */
  color: string;
  /** One value for each bucket; null if it is missing. */
  values: (number | null)[];
  total: number | null;
}

export interface TimeSeries {
  /** The starts of the buckets, in milliseconds since 1970. */
  starts: number[];
  intervalMs: number;
  /** Stacked bars, the first at the bottom; or lines. */
  kind: 'bars' | 'lines';
  unit: 'count' | 'ms';
  series: Series[];
  /** The number of outlying traces that are not drawn. */
  outside: number;
}

/** Returns the series in the response to `requestOf(chart, by)`. */
export function seriesOf(answer: Aggregates, chart: Chart, by: string | null): TimeSeries {
  const { time, groups, other } = answer.data;
  const shape = {
    starts: (time?.starts ?? []).map((start) => Date.parse(start)),
    intervalMs: time?.interval_ms ?? 0,
    kind: chart === 'latency' ? 'lines' : 'bars',
    unit: chart === 'latency' ? 'ms' : 'count',
    outside: 0,
  } as const;
  if (by === null) return { ...shape, series: groups[0] === undefined ? [] : wholeSeries(groups[0], chart) };
  const series = groups.map((group, index) => {
    const value = group.by[by];
    const color = `--series-${String((index % MAX_VALUES) + 1)}`;
    return seriesIn(group, chart, value ?? 'without', value === null || value === undefined ? '--other-bar' : color);
  });
  if (other !== undefined) series.push(seriesIn(other, chart, 'others', '--muted'));
  return { ...shape, series };
}

function wholeSeries(all: GroupNumbers, chart: Chart): Series[] {
  const of = (name: string, label: string, color: string): Series => ({
    name: label,
    color,
    values: all.series?.[name] ?? [],
    total: all.total[name] ?? null,
  });
  switch (chart) {
    case 'runs': {
      const failed = of('failed', 'failed', '--error');
      return [failed, difference('succeeded', of(ALL.name, '', '--plain-bar'), failed)];
    }
    case 'errors':
      return [of('failed', 'failed', '--error')];
    case 'latency':
      return [of('p50', 'p50', '--series-2'), of('p95', 'p95', '--series-1')];
    case 'tokens':
      return [of('input', 'in', '--plain-bar'), of('output', 'out', '--series-2')];
  }
}

function difference(name: string, whole: Series, part: Series): Series {
  const values = whole.values.map((value, index) => (value ?? 0) - (part.values[index] ?? 0));
  return { ...whole, name, values, total: (whole.total ?? 0) - (part.total ?? 0) };
}

/** One number for each bucket, for one value of a field. */
function seriesIn(part: GroupNumbers, chart: Chart, name: string, color: string): Series {
  const of = (measure: string) => part.series?.[measure] ?? [];
  const total = (measure: string) => part.total[measure] ?? null;
  if (chart !== 'tokens') {
    const measure = chart === 'runs' ? ALL.name : chart === 'errors' ? 'failed' : 'p95';
    return { name, color, values: of(measure), total: total(measure) };
  }
  const output = of('output');
  const values = of('input').map((value, index) => (value ?? 0) + (output[index] ?? 0));
  return { name, color, values, total: (total('input') ?? 0) + (total('output') ?? 0) };
}

/** Returns the heights of stacked bars: each is the sum of its own value and the values below. */
export function stack(series: readonly Series[]): number[][] {
  const heights: number[][] = [];
  for (const { values } of series) {
    const below = heights.at(-1);
    heights.push(values.map((value, index) => (value ?? 0) + (below?.[index] ?? 0)));
  }
  return heights;
}
