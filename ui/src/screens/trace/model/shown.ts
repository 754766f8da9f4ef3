/** The visible spans: all, the key spans, or only matches of a search. */
import type { Spans } from './spans';

/** The types of framework steps, whose work is in the spans below them. */
const FRAMEWORK_TYPES = new Set(['CHAIN', 'UNKNOWN', 'PROMPT']);

export interface Choice {
  /** True if framework steps are hidden, unless they failed. */
  keyOnly: boolean;
  /** 1 for each span that matches a search; null without a search. Matches are always visible. */
  matches: Uint8Array | null;
  /** True if only matches and their ancestors are visible. */
  matchesOnly: boolean;
  /** A span that is always visible; -1 for none. */
  pinned: number;
}

/** Returns 1 for each key span: an agent, a team, a workflow, a model or tool call, or a failed span. */
export function keySpans(spans: Spans): Uint8Array {
  const isFramework = Uint8Array.from(spans.type.values, (type) => (FRAMEWORK_TYPES.has(type) ? 1 : 0));
  return Uint8Array.from(spans.type.codes, (code, span) => (isFramework[code] === 0 || spans.hasFailed(span) ? 1 : 0));
}

/** Returns 1 for each span of `mask` and for its ancestors. */
export function withAncestors(spans: Spans, mask: Uint8Array): Uint8Array {
  const result = Uint8Array.from(mask);
  for (let span = spans.count - 1; span >= 0; span -= 1) {
    const parent = spans.parent[span] ?? -1;
    if (parent !== -1 && result[span] === 1) result[parent] = 1;
  }
  return result;
}

/** Returns 1 for each visible span; `key` is the result of `keySpans`. */
export function shownSpans(spans: Spans, key: Uint8Array, choice: Choice): Uint8Array {
  const shown = choice.keyOnly ? Uint8Array.from(key) : new Uint8Array(spans.count).fill(1);
  const { matches, pinned } = choice;
  if (matches !== null) {
    const near = choice.matchesOnly ? withAncestors(spans, matches) : null;
    for (let span = 0; span < spans.count; span += 1) {
      if (near?.[span] === 0) shown[span] = 0;
      if (matches[span] === 1) shown[span] = 1;
    }
  }
  if (pinned !== -1) shown[pinned] = 1;
  return shown;
}
