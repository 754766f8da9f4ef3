/** The data of the charts above the list. */
import { fetchAggregates, type Aggregates, type Histogram, type Measure } from '../../../api/aggregate';
import { Loading } from '../../../state/loading.svelte';
import type { Scope, TracesQuery } from '../query.svelte';
import { coreOf } from './core';
import { countsOf, requestOf, seriesOf, TIME_BUCKETS, type TimeSeries } from './series';

const BINS = 24;
/** The maximum number of repeated requests to exclude outliers. Each one narrows the range by at least a fifth. */
const MAX_ROUNDS = 6;

export class ChartsState {
  readonly time = new Loading<TimeSeries>();
  readonly durations = new Loading<Histogram>();

  /** Requests the chart over time. Without a range it covers the traces except outliers. */
  async loadTime({ scope, charted, chart, by }: TracesQuery): Promise<void> {
    await this.time.load(async (signal) => {
      const ask = (from: string | null, to: string | null): Promise<Aggregates> => {
        const time = { ...(from === null ? {} : { from }), ...(to === null ? {} : { to }), buckets: TIME_BUCKETS };
        return fetchAggregates({ ...scope, time, ...requestOf(chart, by) }, signal);
      };
      let { from, to } = charted;
      let answer = await ask(from, to);
      const all = sumOf(countsOf(answer));
      for (let round = 0; round < MAX_ROUNDS && (charted.from === null || charted.to === null); round += 1) {
        const { starts } = answer.data.time ?? { starts: [] };
        const core = coreOf(countsOf(answer));
        if (core === null) break;
        from = charted.from ?? starts[core.first] ?? null;
        to = charted.to ?? starts[core.last + 1] ?? to;
        answer = await ask(from, to);
      }
      return { ...seriesOf(answer, chart, by), outside: all - sumOf(countsOf(answer)) };
    });
  }

  /** Requests the distribution of durations without outliers. */
  async loadDurations(scope: Scope): Promise<void> {
    await this.durations.load(async (signal) => {
      const ask = async (range?: [number, number]): Promise<Histogram> => {
        const latency: Measure = { name: 'latency', op: 'HISTOGRAM', key: 'duration_ms', scale: 'log', bins: BINS };
        const measure = range === undefined ? latency : { ...latency, range };
        const answer = await fetchAggregates({ ...scope, measures: [measure] }, signal);
        return answer.data.groups[0]?.histograms?.['latency'] ?? { edges: [], counts: [] };
      };
      const whole = await ask();
      const core = coreOf(whole.counts);
      if (core === null) return whole;
      const [low, high] = [whole.edges[core.first], whole.edges[core.last + 1]];
      return low === undefined || high === undefined ? whole : ask([low, high]);
    });
  }
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}
