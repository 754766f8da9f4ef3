/** Returns a duration in milliseconds for people: `0 ms`, `4.2 ms`, `384 ms`, `3.45 s`, `2 min 5 s`, `3 h 2 min`. */
export function formatDuration(ms: number): string {
  if (ms < 0.01) return ms <= 0 ? '0 ms' : `${trim(ms * 1000, 1)} µs`;
  if (ms < 10) return `${trim(ms, 2)} ms`;
  if (ms < 999.5) return `${String(Math.round(ms))} ms`;
  const seconds = ms / 1000;
  if (seconds < 59.995) return `${trim(seconds, 2)} s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return pair(Math.floor(whole / 60), 'min', whole % 60, 's');
  const minutes = Math.round(whole / 60);
  if (minutes < 2880) return pair(Math.floor(minutes / 60), 'h', minutes % 60, 'min');
  const hours = Math.round(minutes / 60);
  return pair(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

function trim(value: number, digits: number): string {
  return String(Number(value.toFixed(digits)));
}

function pair(large: number, unit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${String(large)} ${unit}` : `${String(large)} ${unit} ${String(small)} ${smallUnit}`;
}

/** Returns the duration of a trace in milliseconds, with microsecond precision. */
export function durationOf(trace: { start_time: string; end_time: string }): number {
  const ms = Date.parse(trace.end_time) - Date.parse(trace.start_time);
  return ms + (microsOf(trace.end_time) - microsOf(trace.start_time)) / 1_000;
}

/** The microseconds of an instant, which a `Date` drops. */
function microsOf(instant: string): number {
  const fraction = /\.(\d+)/.exec(instant)?.[1] ?? '';
  return Number(fraction.slice(3, 6).padEnd(3, '0'));
}
