/**
 * Text without hidden characters. Characters that change the direction of text, are invisible, or control a terminal
 * are shown as code points; so are lone surrogates. The joiner between emoji is kept because it changes them. Only the
 * first 16 combining marks on a letter are shown, with the number of the rest: thousands of marks cover other text and
 * take a browser seconds to lay out.
 */
export interface Piece {
  text: string;
  /** True if the text replaces a hidden character. */
  isMark: boolean;
}

const HIDDEN =
  /(?<=\p{M}{16})\p{M}{2,}|(?!\t|\n|\r|\u200D|\uFE0F)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{DI}]|(?<!\p{ExtPict}\uFE0F?\p{Emoji_Modifier}?)\u200D/gu;

/** Returns the pieces of a text. A text without hidden characters is one piece. */
export function visible(text: string): Piece[] {
  const pieces: Piece[] = [];
  let end = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (match.index > end) pieces.push({ text: text.slice(end, match.index), isMark: false });
    pieces.push({ text: nameOf(match[0]), isMark: true });
    end = match.index + match[0].length;
  }
  if (end < text.length || pieces.length === 0) pieces.push({ text: text.slice(end), isMark: false });
  return pieces;
}

/** Returns a text with its hidden characters as code points, for attributes and titles. */
export function visibleText(text: string): string {
  return text.replace(HIDDEN, nameOf);
}

function nameOf(hidden: string): string {
  const count = [...hidden].length;
  return count > 1 ? `+${String(count)} combining marks` : codePoint(hidden);
}

function codePoint(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}
