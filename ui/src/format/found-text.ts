/** An excerpt with its match, in one line. */

export interface FoundText {
  before: string;
  found: string;
  after: string;
}

/** The maximum number of characters before the match, so that a narrow line still shows the match. */
const MAX_BEFORE = 30;

/** Returns the parts of an excerpt. Its `start` and `end` count code points, not UTF-16 units. */
export function foundText({ context, start, end }: { context: string; start: number; end: number }): FoundText {
  const characters = Array.from(context);
  const first = Math.max(0, start - MAX_BEFORE);
  const part = (from: number, to?: number): string => characters.slice(from, to).join('');
  return {
    before: `${first > 0 ? '…' : ''}${part(first, start).trimStart()}`,
    found: part(start, end),
    after: part(end),
  };
}
