/** A link in text of a trace, as far as it may be followed. */
export interface SafeLink {
  href: string;
  /** Where it truly leads. */
  host: string;
}

/** Returns a link to a page of the web; null for any other address, which is shown as text. */
export function safeLink(address: string): SafeLink | null {
  let url: URL;
  try {
    url = new URL(address.trim());
  } catch {
    return null;
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return null;
  return { href: url.href, host: url.host };
}
