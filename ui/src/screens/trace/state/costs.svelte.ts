/** The costs of a trace, with the built-in prices and the user's own prices, which take precedence. */
import { priceOf, type PriceTable } from '../../../pricing/cost';
import prices from '../../../../../rust/trace/cost/prices.json';
import { ownPrices } from '../../../state/own-prices.svelte';
import { SpanCosts } from '../model/costs';
import type { Spans } from '../model/spans';

/** The built-in price table. */
export const PRICES: PriceTable = prices;

export class Costs {
  /** True if the price dialog is open. */
  showsPrices = $state(false);
  readonly #spans: Spans;

  constructor(spans: Spans) {
    this.#spans = spans;
  }

  readonly tables = $derived.by(() => (ownPrices.table === null ? [PRICES] : [ownPrices.table, PRICES]));
  readonly costs = $derived.by(() => new SpanCosts(this.#spans, (model) => priceOf(model, this.tables)));
}
