/** Formats instants, which are ISO 8601 texts or milliseconds since 1970. */
import { preferences } from '../state/preferences.svelte';

type Instant = string | number | Date;

const DAY = { day: 'numeric', month: 'short' } as const;
const DATE = { ...DAY, year: 'numeric' } as const;
const TIME = { hour: '2-digit', minute: '2-digit', second: '2-digit' } as const;
const EXACT_TIME = { ...TIME, fractionalSecondDigits: 3 } as const;

const formats = new Map<string, Intl.DateTimeFormat>();

function format(style: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const zone = preferences.timeZone === 'utc' ? 'UTC' : undefined;
  const key = `${style} ${zone ?? ''}`;
  let found = formats.get(key);
  if (found === undefined) {
    found = new Intl.DateTimeFormat('en-GB', zone === undefined ? options : { ...options, timeZone: zone });
    formats.set(key, found);
  }
  return found;
}

/** Returns a day with its time to the second: `22 Nov 2026, 16:27:14`. */
export function formatInstant(instant: Instant): string {
  return format('full', { ...DATE, ...TIME }).format(new Date(instant));
}

/** Returns a short date and time, without the current year. */
export function formatBriefly(instant: Instant, now: number): string {
  const isThisYear = new Date(instant).getUTCFullYear() === new Date(now).getUTCFullYear();
  if (!isThisYear) return format('date', DATE).format(new Date(instant));
  return format('brief', { ...DAY, ...TIME }).format(new Date(instant));
}

/** Returns the label of a tick on an axis with ticks every `stepMs`: the time, or the date at midnight. */
export function formatTick(instant: Instant, stepMs: number): string {
  const date = new Date(instant);
  const options: Intl.DateTimeFormatOptions = { hour: '2-digit', minute: '2-digit' };
  if (stepMs < 60_000) options.second = '2-digit';
  const time = format(`tick ${String(options.second ?? '')}`, options).format(date);
  const isMidnight = /^00:00(?::00)?$/.test(time);
  if (stepMs < 86_400_000 && !isMidnight) return time;
  return format('day', DAY).format(date);
}

/** Returns date, time in milliseconds and time zone. */
export function formatPrecisely(instant: Instant): string {
  return format('precise', { ...DATE, ...EXACT_TIME, timeZoneName: 'short' }).format(new Date(instant));
}

/** Returns the age of an instant: `12 s ago`, `3 h ago`; the date after a week. */
export function formatAgo(instant: Instant, now: number): string {
  const seconds = Math.round((now - new Date(instant).getTime()) / 1000);
  if (seconds < 0) return formatInstant(instant);
  if (seconds < 60) return `${String(seconds)} s ago`;
  if (seconds < 3600) return `${String(Math.floor(seconds / 60))} min ago`;
  if (seconds < 86_400) return `${String(Math.floor(seconds / 3600))} h ago`;
  if (seconds < 604_800) return `${String(Math.floor(seconds / 86_400))} d ago`;
  return format('date', DATE).format(new Date(instant));
}

/** Returns the time of day in milliseconds, for lists of one day. */
export function formatClock(instant: Instant): string {
  return format('clock', EXACT_TIME).format(new Date(instant));
}
