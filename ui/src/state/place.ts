/** A place in the page, as the hash of its address: `#/trace/4bf9?span=00f0`. */
export interface Place {
  /** The segments of the path, decoded. */
  path: string[];
  params: URLSearchParams;
}

/** Returns the place that a hash means. A segment that is badly encoded is taken as it is. */
export function parseRoute(hash: string): Place {
  const [path = '', query = ''] = split(hash.replace(/^#\/?/, ''));
  return { path: path.split('/').filter(Boolean).map(decode), params: new URLSearchParams(query) };
}

/** Returns the hash of a place. */
export function formatRoute(path: string[], params: URLSearchParams): string {
  const query = params.toString();
  return `#/${path.map(encodeURIComponent).join('/')}${query === '' ? '' : `?${query}`}`;
}

/** Returns the hash of a place, to link to. */
export function linkTo(path: string[], params: Record<string, string> = {}): string {
  return formatRoute(path, new URLSearchParams(params));
}

/** Returns parameters with some changed; null removes one. */
export function merge(params: URLSearchParams, changes: Record<string, string | null>): URLSearchParams {
  const merged = new URLSearchParams(params);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) merged.delete(name);
    else merged.set(name, value);
  }
  return merged;
}

function split(text: string): [string, string] {
  const at = text.indexOf('?');
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
