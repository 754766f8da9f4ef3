/** The user's own table of prices, kept in this browser. It comes before the one of the page. */
import { readTable, type PriceTable } from '../pricing/cost';

const KEY = 'spanwise.prices';

function load(): PriceTable | null {
  try {
    // eslint-disable-next-line no-restricted-globals -- what the user likes outlives the tab
    const kept = localStorage.getItem(KEY);
    return kept === null ? null : readTable(kept);
  } catch {
    return null;
  }
}

class OwnPrices {
  #table = $state.raw<PriceTable | null>(load());

  /** Null without a table of one's own. */
  get table(): PriceTable | null {
    return this.#table;
  }

  /** Uses a table from now on; null for none. Returns whether the browser keeps it. */
  use(table: PriceTable | null): boolean {
    this.#table = table;
    try {
      // eslint-disable-next-line no-restricted-globals -- what the user likes outlives the tab
      if (table === null) localStorage.removeItem(KEY);
      // eslint-disable-next-line no-restricted-globals -- as above
      else localStorage.setItem(KEY, JSON.stringify(table));
      return true;
    } catch {
      return false;
    }
  }
}

export const ownPrices = new OwnPrices();
