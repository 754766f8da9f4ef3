/** The cost of model calls, computed from a table of prices. A call without a price has an unknown cost, not zero. */

/** Prices in US dollars for a million tokens. */
export interface Price {
  /** A name of a model, in which `*` stands for anything: `gpt-4.1`, `acme/*`. */
  model: string;
  input: number;
  output: number;
  /** For input tokens read from a cache; defaults to `input`. */
  cached?: number;
  /** For reasoning tokens; defaults to `output`. */
  reasoning?: number;
}

export interface PriceTable {
  /** The date of the prices. */
  as_of: string;
  prices: Price[];
}

export interface Tokens {
  input: number;
  output: number;
  /** Part of `input`. */
  cached: number;
  /** Part of `output`. */
  reasoning: number;
}

/** A sum of costs in US dollars. */
export interface Cost {
  known: number;
  /** The number of calls of unknown price, which are not in the sum. */
  unknown: number;
}

/** The prefix of a model name: a provider with a slash, or a region and a vendor with dots. */
const PREFIX = /^(?:.*\/|(?:[a-z]{2,}\.)+)/;
/** The suffix of a model name with the same price: a date, `latest`, or an API version. */
const SUFFIX = /^(?:[-@](?:latest|\d{3,8}|\d{4}-\d{2}-\d{2}))?(?:-v\d+)?(?::\d+)?$/;

/** Returns the price of a model from the first table that has one. In a table the longest matching name wins. */
export function priceOf(model: string, tables: readonly PriceTable[]): Price | null {
  const name = model.trim().toLowerCase();
  for (const { prices } of tables) {
    let found: Price | null = null;
    for (const price of prices) {
      if (fits(name, price.model.toLowerCase()) && price.model.length > (found?.model.length ?? -1)) found = price;
    }
    if (found !== null) return found;
  }
  return null;
}

function fits(name: string, pattern: string): boolean {
  if (pattern.includes('*')) return like(name, pattern) || like(name.replace(PREFIX, ''), pattern);
  return [name, name.replace(PREFIX, '')].some(
    (each) => each === pattern || (each.startsWith(pattern) && SUFFIX.test(each.slice(pattern.length))),
  );
}

function like(name: string, pattern: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  if (!name.startsWith(first)) return false;
  let at = first.length;
  for (const [index, part] of rest.entries()) {
    const isLast = index === rest.length - 1;
    const found = isLast ? Math.max(name.length - part.length, at) : name.indexOf(part, at);
    if (found === -1 || !name.startsWith(part, found)) return false;
    at = found + part.length;
  }
  return at === name.length;
}

/** Returns the cost of tokens. */
export function costOf(tokens: Tokens, price: Price): number {
  const fresh = Math.max(tokens.input - tokens.cached, 0) * price.input;
  const cached = Math.min(tokens.cached, tokens.input) * (price.cached ?? price.input);
  const visible = Math.max(tokens.output - tokens.reasoning, 0) * price.output;
  const thought = Math.min(tokens.reasoning, tokens.output) * (price.reasoning ?? price.output);
  return (fresh + cached + visible + thought) / 1e6;
}

/**
 * Returns the price table in a JSON text.
 *
 * @throws Error the text is not a valid price table; the message has the position.
 */
export function readTable(text: string): PriceTable {
  const table: unknown = JSON.parse(text);
  if (!isRecord(table)) throw new Error('Expected an object with `as_of` and `prices`.');
  if (typeof table['as_of'] !== 'string') throw new Error('Expected a date as text at `$.as_of`.');
  if (!Array.isArray(table['prices'])) throw new Error('Expected a list at `$.prices`.');
  const prices = table['prices'].map((price: unknown, index) => readPrice(price, `$.prices[${String(index)}]`));
  return { as_of: table['as_of'], prices };
}

function readPrice(price: unknown, path: string): Price {
  if (!isRecord(price)) throw new Error(`Expected an object at \`${path}\`.`);
  const { model, ...numbers } = price;
  if (typeof model !== 'string' || model.trim() === '') throw new Error(`Expected a name at \`${path}.model\`.`);
  const result: Price = { model, input: number(numbers, 'input', path), output: number(numbers, 'output', path) };
  if (numbers['cached'] !== undefined) result.cached = number(numbers, 'cached', path);
  if (numbers['reasoning'] !== undefined) result.reasoning = number(numbers, 'reasoning', path);
  return result;
}

function number(values: Record<string, unknown>, name: string, path: string): number {
  const value = values[name];
  if (typeof value === 'number' && value >= 0 && value < 1e6) return value;
  throw new Error(`Expected dollars for a million tokens, at least 0, at \`${path}.${name}\`.`);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns formatted dollars: `$0.0012`, `$1.25`, `$1,204`. */
export function formatDollars(dollars: number): string {
  if (dollars === 0) return '$0';
  if (dollars < 0.0001) return 'under $0.0001';
  if (dollars < 0.1) return `$${String(Number(dollars.toFixed(4)))}`;
  return `$${dollars.toLocaleString('en', dollars < 1000 ? { minimumFractionDigits: 2, maximumFractionDigits: 2 } : { maximumFractionDigits: 0 })}`;
}

/** Returns a formatted sum: `$0.12`, `at least $0.12`, `unknown`. */
export function formatCost({ known, unknown }: Cost): string {
  if (unknown === 0) return formatDollars(known);
  return known === 0 ? 'unknown' : `at least ${formatDollars(known)}`;
}
