/** One line of an input or an output, for a list. */
import { messageText } from './message-text';

const TEXT = /"(?:content|text)"\s*:\s*"((?:[^"\\]|\\.)*)/g;

/**
 * Returns the first line of a text. Of messages in JSON it is the first line of the last one, also if the JSON is cut
 * off; other JSON stays as it is.
 */
export function firstLine(text: string): string {
  const speech = messageText(text);
  const cut = speech === text && /^\s*[[{]/.test(text) ? lastText(text) : null;
  return (cut ?? speech).trimStart().split(/[\r\n]/, 1)[0] ?? '';
}

function lastText(json: string): string | null {
  if (!/"(?:role|parts|messages|type)"/.test(json)) return null;
  const found = [...json.matchAll(TEXT)].at(-1)?.[1];
  if (found === undefined || found === '') return null;
  try {
    return JSON.parse(`"${found.replace(/\\u?[0-9a-fA-F]{0,3}$/, '')}"`) as string;
  } catch {
    return null;
  }
}
