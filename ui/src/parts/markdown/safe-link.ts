/** Safe links in texts of traces. */
export interface SafeLink {
  href: string;
  /** The actual target. */
  host: string;
}

/** Returns a link to a web page; null for any other address, which is shown as text. */
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
