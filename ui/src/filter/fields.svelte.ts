/** The fields that filters are made of, as the service names them. They are read once. */
import { fetchFilterFields, type FilterField } from '../api/traces';

class Fields {
  /** The fields; empty until they are read. */
  all = $state.raw<FilterField[]>([]);
  /** Why they could not be read, or null. */
  problem = $state.raw<unknown>(null);
  #reading: Promise<void> | null = null;

  /** Reads the fields, unless they are read already. */
  read(): Promise<void> {
    this.#reading ??= this.#fetch();
    return this.#reading;
  }

  async #fetch(): Promise<void> {
    try {
      this.all = await fetchFilterFields();
      this.problem = null;
    } catch (error) {
      this.problem = error;
      this.#reading = null;
    }
  }
}

export const fields = new Fields();
