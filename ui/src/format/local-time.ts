/** Instants in the format of `<input type="datetime-local">`, in the time zone of the page. */

export type Zone = 'local' | 'utc';

/** Returns the input text for an instant, with milliseconds if they are not zero; empty for an invalid instant. */
export function toField(instant: string, zone: Zone): string {
  const ms = Date.parse(instant);
  if (Number.isNaN(ms)) return '';
  const shift = zone === 'utc' ? 0 : new Date(ms).getTimezoneOffset() * 60_000;
  return new Date(ms - shift).toISOString().replace(/(\.000)?Z$/, '');
}

/** Returns the instant of an input in ISO 8601; null if the input is empty or incomplete. */
export function fromField(text: string, zone: Zone): string | null {
  const ms = Date.parse(zone === 'utc' ? `${text}Z` : text);
  return text === '' || Number.isNaN(ms) ? null : new Date(ms).toISOString();
}
