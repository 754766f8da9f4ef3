/** A piece of text with what was found in it, for one line. */

export interface FoundText {
  before: string;
  found: string;
  after: string;
}

/** Characters before what was found: in a narrow line it would not be seen behind more. */
const MAX_BEFORE = 30;

/** Returns the parts of a piece whose `start` and `end` count characters, not halves of them. */
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
