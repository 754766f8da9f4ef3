/** The fields that filters are made of, as the service names them. They are read once. */
import { fetchFilterSchema, type FilterField } from '../api/traces';

class Fields {
  /** The fields of traces; empty until they are read. */
  all = $state.raw<FilterField[]>([]);
  /** The fields of spans, inside of `SPAN`. */
  spans = $state.raw<FilterField[]>([]);
  /** How spans inside of `SPAN` can be related to others, as `FOLLOWED_BY`. */
  axes = $state.raw<string[]>([]);
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
