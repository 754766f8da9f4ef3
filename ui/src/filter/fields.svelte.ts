/** The fields of filters, loaded once from the service. */
import { fetchFilterSchema, type FilterField } from '../api/traces';

class Fields {
  /** The fields of traces; empty until they are loaded. */
  all = $state.raw<FilterField[]>([]);
  /** The fields of spans, inside of `SPAN`. */
  spans = $state.raw<FilterField[]>([]);
  /** The axes inside `SPAN`, such as `FOLLOWED_BY`. */
  axes = $state.raw<string[]>([]);
  /** Why they could not be loaded, or null. */
  problem = $state.raw<unknown>(null);
  #reading: Promise<void> | null = null;

  /** Loads the fields if they are not loaded yet. */
  read(): Promise<void> {
    this.#reading ??= this.#fetch();
    return this.#reading;
  }

  async #fetch(): Promise<void> {
    try {
      const schema = await fetchFilterSchema();
      this.all = schema.fields;
      this.spans = schema.span_fields;
      this.axes = schema.axes;
      this.problem = null;
    } catch (error) {
      this.problem = error;
      this.#reading = null;
    }
  }
}

export const fields = new Fields();
