/** Which spans are shown: all, the key ones, or only what a search matches. */
import type { Spans } from './spans';

/** Types that frameworks give to their own steps: nothing happens in them that is not in the spans below. */
const FRAMEWORK_TYPES = new Set(['CHAIN', 'UNKNOWN', 'PROMPT']);

export interface Choice {
  /** Whether steps of frameworks are hidden, unless they failed. */
  keyOnly: boolean;
  /** Spans that match a search, 1 each; null without a search. They are shown in any case. */
  matches: Uint8Array | null;
  /** Whether only matches are shown, with what is above them. */
  matchesOnly: boolean;
  /** A span that is shown in any case; -1 for none. */
  pinned: number;
}

/** Returns 1 for each span that is key: an agent, a team, a workflow, a call of a model or a tool, or a failed one. */
export function keySpans(spans: Spans): Uint8Array {
  const isFramework = Uint8Array.from(spans.type.values, (type) => (FRAMEWORK_TYPES.has(type) ? 1 : 0));
  return Uint8Array.from(spans.type.codes, (code, span) => (isFramework[code] === 0 || spans.hasFailed(span) ? 1 : 0));
}

/** Returns 1 for each span of `mask`, and for each span above one. */
export function withAncestors(spans: Spans, mask: Uint8Array): Uint8Array {
  const result = Uint8Array.from(mask);
  for (let span = spans.count - 1; span >= 0; span -= 1) {
    const parent = spans.parent[span] ?? -1;
    if (parent !== -1 && result[span] === 1) result[parent] = 1;
  }
  return result;
}

/** Returns 1 for each span that is shown; `key` is that of `keySpans`. */
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
