/** The current page of traces, or the reason why it is empty. */
import { searchTraces, type PreviewPage, type TracePreview } from '../../../api/traces';
import type { Expression } from '../../../filter/expression';
import { formatTotal } from '../../../format/number';
import { announcer } from '../../../state/announcer.svelte';
import { Loading } from '../../../state/loading.svelte';
import { DEFAULT_SORT } from './columns';
import type { TracesQuery } from '../query.svelte';

export const PAGE_SIZE = 50;

export class ListState {
  readonly loading = new Loading<PreviewPage>();
  /** The newest matching trace of all time, if the range has no match. */
  readonly newest = new Loading<TracePreview | null>();

  get rows(): TracePreview[] {
    return this.loading.value?.data ?? [];
  }

  async load(query: TracesQuery): Promise<void> {
    const { scope, filter, bounds, sort, page } = query;
    this.newest.clear();
    const answer = await this.loading.load((signal) =>
      searchTraces({ ...scope, sort, page, limit: PAGE_SIZE }, signal),
    );
    if (answer === null) return;
    announcer.say(formatTotal(answer.meta, 'trace'));
    if (answer.meta.total_count === 0 && (bounds.from ?? bounds.to) !== null)
      await this.#findNewest(filter ?? null, scope.store);
  }

  async #findNewest(filter: Expression | null, store: string | null): Promise<void> {
    await this.newest.load(async (signal) => {
      const found = await searchTraces({ filter, store, sort: DEFAULT_SORT, page: 1, limit: 1 }, signal);
      return found.data[0] ?? null;
    });
  }
}
