/** The models that prevent a trace from having a complete cost. */
import type { Spans } from './spans';

/** Returns the models of the calls with an unknown cost, in the order of the tree. */
export function unpricedModels(spans: Spans): string[] {
  const models = spans.cost.flatMap((cost, span) =>
    cost === null ? [spans.model.at(span) ?? 'calls without a model name'] : [],
  );
  return [...new Set(models)];
}
