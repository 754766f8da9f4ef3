/** What the screen asks for: all of it stands in the address. */
import { readFilter, writeFilter } from '../../filter/address';
import { all, type Expression } from '../../filter/expression';
import { boundsOf, chartedBounds, readRange, startsWithin, writeRange, type TimeRange } from '../../filter/time-range';
import { recentFilters } from '../../state/recent-filters.svelte';
import { route } from '../../state/route.svelte';
import { readChart, readSplit, type Chart } from './charts/series';
import { readSort, writeSort } from './list/columns';
import type { Sort } from '../../api/traces';
import type { Editor } from '../../filter/editor/editors';

/** Filters by a value of a field, null for none; or leaves it out. */
export type Pick = (key: string, value: string | null, excluded: boolean) => void;

export interface Scope {
  filter: Expression | null;
  /** The id of the trace store; null for the default. */
  store: string | null;
}

const ALL: TimeRange = { kind: 'all' };

export class TracesQuery {
  /** Raised to ask again; a relative range is then counted from the new moment. */
  #moment = $state(0);

  readonly #from = $derived(route.params.get('from'));
  readonly #to = $derived(route.params.get('to'));
  readonly #sort = $derived(route.params.get('sort'));

  /** The filter as the address holds it. */
  readonly source = $derived(route.params.get('q') ?? '');
  /** The filter; undefined if the address has one that is not readable. */
  readonly filter = $derived(readFilter(this.source));
  /** The range; undefined if the address has one that is not readable. */
  readonly range = $derived(readRange(this.#from, this.#to));
  readonly #now = $derived.by(() => {
    void this.#moment;
    void this.range;
    return Date.now();
  });
  readonly bounds = $derived(boundsOf(this.range ?? ALL, this.#now));
  /** The bounds of charts. */
  readonly charted = $derived(chartedBounds(this.range ?? ALL, this.#now));
  readonly sort = $derived(readSort(this.#sort));
  readonly page = $derived(Math.max(1, Math.floor(Number(route.params.get('page') ?? '1')) || 1));
  readonly store = $derived(route.params.get('db'));
  /** The traces that all parts of the screen are about: the filter with the range as a condition, and the store. */
  readonly scope = $derived.by((): Scope => {
    // A scope of its own for every moment, so that all parts ask again.
    void this.#moment;
    return { filter: all(startsWithin(this.bounds), this.filter ?? null), store: this.store };
  });
  readonly chart = $derived(readChart(route.params.get('chart')));
  /** The field whose values a chart shows apart, or null. */
  readonly by = $derived(readSplit(route.params.get('by')));
  readonly editor = $derived.by((): Editor | null => {
    const editor = route.params.get('edit');
    return editor === 'groups' || editor === 'json' ? editor : null;
  });

  /** Whether there is something to ask: the address is readable. */
  readonly isReadable = $derived(this.filter !== undefined && this.range !== undefined);

  /** Asks again, as of now. */
  refresh(): void {
    this.#moment += 1;
  }

  setFilter(filter: Expression | null): void {
    recentFilters.add(filter);
    route.adjust({ q: writeFilter(filter), page: null }, true);
  }

  setRange(range: TimeRange): void {
    route.adjust({ ...writeRange(range), page: null }, true);
  }

  setSort(sort: Sort): void {
    route.adjust({ sort: writeSort(sort), page: null });
  }

  setPage(page: number): void {
    route.adjust({ page: page === 1 ? null : String(page) }, true);
  }

  setStore(store: string | null): void {
    route.adjust({ db: store, page: null }, true);
  }

  setChart(chart: Chart): void {
    route.adjust({ chart: chart === 'runs' ? null : chart });
  }

  setBy(key: string | null): void {
    route.adjust({ by: key });
  }

  setEditor(editor: Editor | null): void {
    route.adjust({ edit: editor });
  }
}
