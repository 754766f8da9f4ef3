/** Instants as `<input type="datetime-local">` holds them: without a zone, which the page knows. */

export type Zone = 'local' | 'utc';

/** Returns the text of a field for an instant, to the millisecond if it has some; empty for what is no instant. */
export function toField(instant: string, zone: Zone): string {
  const ms = Date.parse(instant);
  if (Number.isNaN(ms)) return '';
  const shift = zone === 'utc' ? 0 : new Date(ms).getTimezoneOffset() * 60_000;
  return new Date(ms - shift).toISOString().replace(/(\.000)?Z$/, '');
}

/** Returns the instant of a field in ISO 8601; null if the field is empty or not complete. */
export function fromField(text: string, zone: Zone): string | null {
  const ms = Date.parse(zone === 'utc' ? `${text}Z` : text);
  return text === '' || Number.isNaN(ms) ? null : new Date(ms).toISOString();
}
