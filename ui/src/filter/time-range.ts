/** Time ranges in the address: `from=-1h`, `from=all`, or two instants. */
import { formatInstant } from '../format/time';
import type { Expression } from './expression';

export type TimeRange =
  | { kind: 'all' }
  | { kind: 'relative'; text: string; ms: number }
  /** Instants in ISO 8601; null is open. `from` is inclusive, `to` is exclusive. */
  | { kind: 'absolute'; from: string | null; to: string | null };

/** Instants in ISO 8601; null is open. */
export interface Bounds {
  from: string | null;
  to: string | null;
}

export const DEFAULT_RANGE = '-24h';

/** The ranges in the menu. */
export const RANGES = ['-15m', '-1h', '-6h', '-24h', '-7d', '-30d'] as const;

const UNITS: Record<string, { ms: number; name: string }> = {
  s: { ms: 1_000, name: 'second' },
  m: { ms: 60_000, name: 'minute' },
  h: { ms: 3_600_000, name: 'hour' },
  d: { ms: 86_400_000, name: 'day' },
  w: { ms: 604_800_000, name: 'week' },
};

/** Returns the range in an address; undefined if it is invalid, the default if it is missing. */
export function readRange(from: string | null, to: string | null): TimeRange | undefined {
  if ((from === null || from === '') && (to === null || to === '')) return readRange(DEFAULT_RANGE, null);
  if (from === 'all') return to === null || to === '' ? { kind: 'all' } : readRange(null, to);
  const relative = /^-(\d{1,6})([smhdw])$/.exec(from ?? '');
  const unit = UNITS[relative?.[2] ?? ''];
  if (relative !== null && unit !== undefined && (to === null || to === '')) {
    return { kind: 'relative', text: relative[0], ms: Number(relative[1]) * unit.ms };
  }
  const range = { from: from === '' ? null : from, to: to === '' ? null : to };
  const isReadable = Object.values(range).every((instant) => instant === null || isInstant(instant));
  return isReadable ? { kind: 'absolute', ...range } : undefined;
}

function isInstant(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}/.test(text) && !Number.isNaN(Date.parse(text));
}

/** Returns the address parameters for a range. */
export function writeRange(range: TimeRange): Bounds {
  if (range.kind === 'all') return { from: 'all', to: null };
  if (range.kind === 'absolute') return { from: range.from, to: range.to };
  return { from: range.text === DEFAULT_RANGE ? null : range.text, to: null };
}

/** Returns the instants of a range. A relative range has no end, so it includes new traces. */
export function boundsOf(range: TimeRange, now: number): Bounds {
  if (range.kind === 'all') return { from: null, to: null };
  if (range.kind === 'absolute') return { from: range.from, to: range.to };
  return { from: new Date(now - range.ms).toISOString(), to: null };
}

/** Returns the instants that a chart shows. A relative range ends now, even without recent traces. */
export function chartedBounds(range: TimeRange, now: number): Bounds {
  const bounds = boundsOf(range, now);
  return range.kind === 'relative' ? { from: bounds.from, to: new Date(now).toISOString() } : bounds;
}

/** Returns the condition that a trace starts within bounds; null if they are open. */
export function startsWithin({ from, to }: Bounds): Expression | null {
  const conditions: Expression[] = [];
  if (from !== null) conditions.push({ op: 'GTE', key: 'start_time', value: from });
  if (to !== null) conditions.push({ op: 'LT', key: 'start_time', value: to });
  const [only] = conditions;
  return conditions.length > 1 ? { op: 'AND', conditions } : (only ?? null);
}

/** Returns the name of a range: `Last 24 hours`, `All time`, `From 22 Nov 2026, 16:27:14`. */
export function rangeWords(range: TimeRange): string {
  if (range.kind === 'all') return 'All time';
  if (range.kind === 'relative') {
    const unit = UNITS[range.text.at(-1) ?? '']?.name ?? '';
    const count = Number(range.text.slice(1, -1));
    return count === 1 ? `Last ${unit}` : `Last ${String(count)} ${unit}s`;
  }
  if (range.from === null) return range.to === null ? 'All time' : `Until ${formatInstant(range.to)}`;
  return range.to === null
    ? `From ${formatInstant(range.from)}`
    : `${formatInstant(range.from)} – ${formatInstant(range.to)}`;
}
