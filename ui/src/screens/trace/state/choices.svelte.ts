/** The choices on the screen, stored in the address. */
import { untrack } from 'svelte';

import { linkTo } from '../../../state/hash-route';
import { route } from '../../../state/route.svelte';
import { readRange, writeRange, type Range } from '../model/timeline';
import { readFormat, type Format } from '../panel/format';

/** The delay before the address is updated, in milliseconds, because browsers limit how often it may change. */
const REST_MS = 200;

export class Choices {
  /** The id of the selected span; null for the first. */
  span = $state<string | null>(null);
  /** True if framework steps are hidden. */
  keyOnly = $state(false);
  /** True if runs of equal siblings are folded. */
  folds = $state(true);
  /** The search text. */
  find = $state('');
  matchesOnly = $state(false);
  /** The filter of the list that led here, as in the address. Its matches are marked. */
  filter = $state<string | null>(null);
  /** The visible time range; null for the whole trace. */
  zoom = $state.raw<Range | null>(null);
  foldsIdle = $state(false);
  /** The tab of the panel; null for the one that fits the span. */
  tab = $state<string | null>(null);
  /** How texts are shown. */
  format = $state<Format>('raw');
  #written: Record<string, string | null> = {};

  /** Synchronizes with the address in both directions. Create it during the initialization of a component. */
  constructor() {
    $effect.pre(() => {
      const { params } = route;
      untrack(() => {
        this.#read(params);
      });
    });
    $effect(() => {
      const params = this.params;
      const timer = setTimeout(() => {
        this.#write(params);
      }, REST_MS);
      return () => {
        clearTimeout(timer);
      };
    });
    this.#read(route.params);
  }

  /** The parameters of the address; null for omitted ones. */
  get params(): Record<string, string | null> {
    return {
      span: this.span,
      view: this.keyOnly ? 'key' : null,
      fold: this.folds ? null : 'off',
      find: this.find === '' ? null : this.find,
      only: this.matchesOnly ? 'matches' : null,
      q: this.filter,
      zoom: writeRange(this.zoom),
      idle: this.foldsIdle ? 'folded' : null,
      tab: this.tab,
      as: this.format === 'raw' ? null : this.format,
    };
  }

  /** Returns the full address of the current view, or of another span if given. */
  link(traceId: string, store: string | null, span: string | null = this.span): string {
    const all = Object.entries({ ...this.params, span, db: store });
    const given = all.filter((each): each is [string, string] => each[1] !== null);
    return `${location.href.replace(/#.*/, '')}${linkTo(['trace', traceId], Object.fromEntries(given))}`;
  }

  /** Ends the search or, without a search, removes the marks of the filter. Returns true if something changed. */
  endSearch(): boolean {
    const had = this.find !== '' || this.filter !== null;
    if (this.find === '') this.filter = null;
    this.find = '';
    this.matchesOnly = false;
    return had;
  }

  #read(params: URLSearchParams): void {
    const isOwn = Object.entries(this.#written).every(([name, value]) => params.get(name) === value);
    if (isOwn && Object.keys(this.#written).length > 0) return;
    this.span = params.get('span');
    this.keyOnly = params.get('view') === 'key';
    this.folds = params.get('fold') !== 'off';
    this.find = params.get('find') ?? '';
    this.matchesOnly = params.get('only') === 'matches';
    this.filter = params.get('q');
    this.zoom = readRange(params.get('zoom'));
    this.foldsIdle = params.get('idle') === 'folded';
    this.tab = params.get('tab');
    this.format = readFormat(params.get('as'));
    this.#written = this.params;
  }

  #write(params: Record<string, string | null>): void {
    if (Object.entries(params).every(([name, value]) => route.params.get(name) === value)) return;
    this.#written = params;
    route.adjust(params);
  }
}
