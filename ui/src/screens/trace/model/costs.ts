/** The cost of each span, and of each subtree. */
import { costOf, type Cost, type Price, type Tokens } from '../../../pricing/cost';
import type { Spans } from './spans';

/** Returns the tokens of one span. */
export function tokensOf(spans: Spans, span: number): Tokens {
  return {
    input: spans.inputTokens[span] ?? 0,
    output: spans.outputTokens[span] ?? 0,
    cached: spans.cachedTokens[span] ?? 0,
    reasoning: spans.reasoningTokens[span] ?? 0,
  };
}

export class SpanCosts {
  readonly #spans: Spans;
  /** Prefix sums over the spans, because the spans of a subtree are adjacent. */
  readonly #known: Float64Array;
  readonly #unknown: Int32Array;
  /** The models without a price that used tokens. */
  readonly unknownModels: readonly string[];

  /** `priceOf` returns the price of a model; null if it is unknown. */
  constructor(spans: Spans, priceOf: (model: string) => Price | null) {
    const prices = spans.model.values.map(priceOf);
    const unknown = new Set<string>();
    this.#spans = spans;
    this.#known = new Float64Array(spans.count + 1);
    this.#unknown = new Int32Array(spans.count + 1);
    for (let span = 0; span < spans.count; span += 1) {
      const tokens = tokensOf(spans, span);
      const price = prices[spans.model.codes[span] ?? -1] ?? null;
      const isFree = tokens.input + tokens.output === 0;
      const cost = price === null || isFree ? 0 : costOf(tokens, price);
      const isUnknown = price === null && !isFree;
      if (isUnknown) unknown.add(spans.model.at(span) ?? 'a model that is not named');
      this.#known[span + 1] = (this.#known[span] ?? 0) + cost;
      this.#unknown[span + 1] = (this.#unknown[span] ?? 0) + (isUnknown ? 1 : 0);
    }
    this.unknownModels = [...unknown];
  }

  get whole(): Cost {
    return this.#between(0, this.#spans.count);
  }

  /** Returns the cost of a span and its descendants. */
  below(span: number): Cost {
    return this.#between(span, span + (this.#spans.size[span] ?? 0));
  }

  /** Returns the cost of a span without its descendants. */
  of(span: number): Cost {
    return this.#between(span, span + 1);
  }

  #between(from: number, to: number): Cost {
    const known = (this.#known[to] ?? 0) - (this.#known[from] ?? 0);
    return { known: Math.max(known, 0), unknown: (this.#unknown[to] ?? 0) - (this.#unknown[from] ?? 0) };
  }
}

/** Returns the tokens of a span and its descendants. */
export function tokensBelow(spans: Spans, span: number): Tokens {
  const sum: Tokens = { input: 0, output: 0, cached: 0, reasoning: 0 };
  const end = span + (spans.size[span] ?? 0);
  for (let each = span; each < end; each += 1) {
    sum.input += spans.inputTokens[each] ?? 0;
    sum.output += spans.outputTokens[each] ?? 0;
    sum.cached += spans.cachedTokens[each] ?? 0;
    sum.reasoning += spans.reasoningTokens[each] ?? 0;
  }
  return sum;
}
