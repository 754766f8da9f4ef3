/** The route in the hash of the address: `#/trace/4bf9?span=00f0`. */
export interface HashRoute {
  /** The segments of the path, decoded. */
  path: string[];
  params: URLSearchParams;
}

/** Parses a hash. A segment with an invalid encoding is used unchanged. */
export function parseRoute(hash: string): HashRoute {
  const [path = '', query = ''] = split(hash.replace(/^#\/?/, ''));
  return { path: path.split('/').filter(Boolean).map(decode), params: new URLSearchParams(query) };
}

/** Returns the hash of a route. */
export function formatRoute(path: string[], params: URLSearchParams): string {
  const query = params.toString();
  return `#/${path.map(encodeURIComponent).join('/')}${query === '' ? '' : `?${query}`}`;
}

/** Returns the link to a route. */
export function linkTo(path: string[], params: Record<string, string> = {}): string {
  return formatRoute(path, new URLSearchParams(params));
}

/** Returns the parameters with changes applied; null removes a parameter. */
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
