/** The costs of a trace, with the prices of the page and the user's own over them. */
import { priceOf, type PriceTable } from '../../../pricing/cost';
import prices from '../../../../../rust/trace/cost/prices.json';
import { ownPrices } from '../../../state/own-prices.svelte';
import { SpanCosts } from '../model/costs';
import type { Spans } from '../model/spans';

/** The table of the page. */
export const PRICES: PriceTable = prices;

export class Costs {
  /** Whether the dialog of prices is open. */
  showsPrices = $state(false);
  readonly #spans: Spans;

  constructor(spans: Spans) {
    this.#spans = spans;
  }

  readonly tables = $derived.by(() => (ownPrices.table === null ? [PRICES] : [ownPrices.table, PRICES]));
  readonly costs = $derived.by(() => new SpanCosts(this.#spans, (model) => priceOf(model, this.tables)));
}
