/** The filter in an address: compact JSON in the parameter `q`. */
import type { Expression } from './expression';

/** Returns the filter in a parameter; null matches everything, undefined means an invalid JSON object. */
export function readFilter(parameter: string | null): Expression | null | undefined {
  if (parameter === null || parameter === '') return null;
  try {
    const value: unknown = JSON.parse(parameter);
    if (value === null) return null;
    if (typeof value !== 'object' || Array.isArray(value)) return undefined;
    return Object.keys(value).length === 0 ? null : (value as Expression);
  } catch {
    return undefined;
  }
}

/** Returns the parameter for a filter; null if there is no filter. */
export function writeFilter(filter: Expression | null): string | null {
  return filter === null ? null : JSON.stringify(filter);
}
