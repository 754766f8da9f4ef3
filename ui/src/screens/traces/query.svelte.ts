/** The query of the screen. All of it is in the address. */
import { readFilter, writeFilter } from '../../filter/address';
import { all, type Expression } from '../../filter/expression';
import { boundsOf, chartedBounds, readRange, startsWithin, writeRange, type TimeRange } from '../../filter/time-range';
import { recentFilters } from '../../state/recent-filters.svelte';
import { route } from '../../state/route.svelte';
import { readChart, readSplit, type Chart } from './charts/series';
import { readSort, writeSort } from './list/columns';
import type { Sort } from '../../api/traces';
import type { Editor } from '../../filter/editor/editors';

/** Includes or excludes a value of a field; null means a missing value. */
export type Pick = (key: string, value: string | null, excluded: boolean) => void;

export interface Scope {
  filter: Expression | null;
  /** The id of the trace store; null for the default. */
  store: string | null;
}

const ALL: TimeRange = { kind: 'all' };

export class TracesQuery {
  /** Incremented to reload; a relative range is then computed from the new time. */
  #moment = $state(0);

  readonly #from = $derived(route.params.get('from'));
  readonly #to = $derived(route.params.get('to'));
  readonly #sort = $derived(route.params.get('sort'));

  /** The filter as the address holds it. */
  readonly source = $derived(route.params.get('q') ?? '');
  /** The filter; undefined if the one in the address is invalid. */
  readonly filter = $derived(readFilter(this.source));
  /** The range; undefined if the one in the address is invalid. */
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
  /** The scope of all parts of the screen: the filter with the range as a condition, and the store. */
  readonly scope = $derived.by((): Scope => {
    // A new scope for every reload, so that all parts request their data again.
    void this.#moment;
    return { filter: all(startsWithin(this.bounds), this.filter ?? null), store: this.store };
  });
  readonly chart = $derived(readChart(route.params.get('chart')));
  /** The field by which a chart is split, or null. */
  readonly by = $derived(readSplit(route.params.get('by')));
  readonly editor = $derived.by((): Editor | null => {
    const editor = route.params.get('edit');
    return editor === 'groups' || editor === 'json' ? editor : null;
  });

  /** True if the address is valid. */
  readonly isReadable = $derived(this.filter !== undefined && this.range !== undefined);

  /** Reloads with the current time. */
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
