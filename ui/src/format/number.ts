const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

/** Returns a whole number with separators: `1,000,000`. */
export function formatCount(value: number): string {
  return whole.format(value);
}

/** Returns a short number: `1.2K`, `3.4M`. */
export function formatShort(value: number): string {
  return short.format(value);
}

/** Returns a count with its noun: `1 trace`, `2 traces`. */
export function formatCounted(value: number, one: string, many = `${one}s`): string {
  return `${formatCount(value)} ${value === 1 ? one : many}`;
}

/** Returns the total of a page, exact or as a lower bound: `at least 64 traces`. */
export function formatTotal(meta: { total_count: number; total_is?: string }, one: string): string {
  return `${meta.total_is === 'at_least' ? 'at least ' : ''}${formatCounted(meta.total_count, one)}`;
}

/** Returns a size: `812 B`, `4.2 KiB`, `1.5 MiB`. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1023.95 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? String(value) : String(Number(value.toFixed(1)))} ${units[unit] ?? ''}`;
}
