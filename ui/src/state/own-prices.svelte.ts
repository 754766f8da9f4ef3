/** The user's own price table, stored in this browser. It takes precedence over the built-in table. */
import { readTable, type PriceTable } from '../pricing/cost';

const KEY = 'spanwise.prices';

function load(): PriceTable | null {
  try {
    // eslint-disable-next-line no-restricted-globals -- what the user likes outlives the tab
    const stored = localStorage.getItem(KEY);
    return stored === null ? null : readTable(stored);
  } catch {
    return null;
  }
}

class OwnPrices {
  #table = $state.raw<PriceTable | null>(load());

  /** Null if the user has no own table. */
  get table(): PriceTable | null {
    return this.#table;
  }

  /** Sets the table; null removes it. Returns true if the browser stored it. */
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
