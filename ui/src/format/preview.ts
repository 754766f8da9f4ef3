/** Previews of inputs and outputs for lists, in one line. */
import { messageText } from './message-text';

const TEXT = /"(?:content|text)"\s*:\s*"((?:[^"\\]|\\.)*)/g;

/**
 * Returns the first line of a text. For messages in JSON it is the first line of the last message, even if the JSON is
 * truncated. Other JSON is unchanged.
 */
export function firstLine(text: string): string {
  const speech = messageText(text);
  const truncated = speech === text && /^\s*[[{]/.test(text) ? lastText(text) : null;
  return (truncated ?? speech).trimStart().split(/[\r\n]/, 1)[0] ?? '';
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
