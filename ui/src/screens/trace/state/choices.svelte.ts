/** What is chosen on the screen, as the address holds it. */
import { untrack } from 'svelte';

import { linkTo } from '../../../state/place';
import { route } from '../../../state/route.svelte';
import { readRange, writeRange, type Range } from '../model/timeline';
import { readFormat, type Format } from '../panel/format';

/** How long the address waits for the next change, in milliseconds: browsers limit how often it may change. */
const REST_MS = 200;

export class Choices {
  /** The id of the selected span; null for the first. */
  span = $state<string | null>(null);
  /** Whether steps of frameworks are hidden. */
  keyOnly = $state(false);
  /** Whether runs of equal siblings are folded. */
  folds = $state(true);
  /** What is searched for. */
  find = $state('');
  matchesOnly = $state(false);
  /** The filter of the list that led here, as the address holds it: what it found is marked. */
  filter = $state<string | null>(null);
  /** The time that is seen; null for all of it. */
  zoom = $state.raw<Range | null>(null);
  foldsIdle = $state(false);
  /** The tab of the panel; null for the one that fits the span. */
  tab = $state<string | null>(null);
  /** How texts are shown. */
  format = $state<Format>('raw');
  #written: Record<string, string | null> = {};

  /** Follows the address, and is followed by it. Make it while a component is initialised. */
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

  /** The parameters of the address; null for those that are left out. */
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

  /** Returns the whole address of what is seen; of another span if one is given. */
  link(traceId: string, store: string | null, span: string | null = this.span): string {
    const all = Object.entries({ ...this.params, span, db: store });
    const given = all.filter((each): each is [string, string] => each[1] !== null);
    return `${location.href.replace(/#.*/, '')}${linkTo(['trace', traceId], Object.fromEntries(given))}`;
  }

  /** Ends the search, or without one the marks of the filter. Returns whether there was something to end. */
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
