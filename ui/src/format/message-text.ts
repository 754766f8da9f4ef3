/**
 * Extracts the message text from a value that may be messages in JSON.
 *
 * Instrumentations record inputs as plain text, as one message, or as a list of messages, of OpenAI's shape
 * (`content`) or of OpenTelemetry's (`parts`).
 */

/** Returns the last message with a text, or the text itself if it has no messages. */
export function messageText(text: string): string {
  const trimmed = text.trimStart();
  if (!trimmed.startsWith('[') && !trimmed.startsWith('{')) return text;
  try {
    return lastMessage(JSON.parse(trimmed)) ?? text;
  } catch {
    return text;
  }
}

function lastMessage(value: unknown): string | null {
  if (Array.isArray(value)) {
    for (const each of [...value].reverse()) {
      const found = typeof each === 'object' && each !== null && 'role' in each ? contentOf(each) : null;
      if (found !== null) return found;
    }
    return null;
  }
  if (typeof value !== 'object' || value === null) return null;
  if ('messages' in value) return lastMessage(value.messages);
  return 'role' in value ? contentOf(value) : null;
}

function contentOf(message: object): string | null {
  const { content, parts } = message as { content?: unknown; parts?: unknown };
  const found = textOf(content) ?? textOf(parts);
  return found === null || found.trim() === '' ? null : found;
}

function textOf(content: unknown): string | null {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return null;
  const texts = content.flatMap((part: unknown) => {
    if (typeof part === 'string') return [part];
    const { text, content: inner } = (part ?? {}) as { text?: unknown; content?: unknown };
    const found = typeof text === 'string' ? text : inner;
    return typeof found === 'string' ? [found] : [];
  });
  return texts.length === 0 ? null : texts.join('\n');
}
