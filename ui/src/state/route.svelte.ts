/** The current route, in the hash of the address, so that filters stay out of logs and referrers. */
import { formatRoute, merge, parseRoute, type HashRoute } from './hash-route';

class Route {
  /** The hash that `#current` was parsed from. */
  #hash = location.hash;
  #current = $state.raw<HashRoute>(parseRoute(location.hash));

  constructor() {
    window.addEventListener('hashchange', () => {
      this.#follow();
    });
  }

  /** The screen: the first segment of the path. */
  get screen(): string {
    return this.#current.path[0] ?? '';
  }

  /** The segments of the path. */
  get path(): readonly string[] {
    return this.#current.path;
  }

  /** The subject of the screen: the second segment of the path, or null. */
  get id(): string | null {
    return this.#current.path[1] ?? null;
  }

  /** The parameters. Changing them has no effect: use `go` or `adjust`. */
  get params(): URLSearchParams {
    return this.#current.params;
  }

  /** Navigates to another route; the back button returns to this one. */
  go(path: string[], params: Record<string, string | null> = {}): void {
    location.hash = formatRoute(path, merge(new URLSearchParams(), params));
  }

  /** Replaces this route with another; the back button skips this one. */
  replace(path: string[], params: Record<string, string | null> = {}): void {
    const hash = formatRoute(path, merge(new URLSearchParams(), params));
    history.replaceState(null, '', hash);
    this.#follow();
  }

  /**
   * Changes parameters; null removes one. The back button skips the change, unless `push` is set. The call is ignored
   * if the address has already changed: a hash changes before its event arrives, and the parameters belong to the
   * previous screen.
   */
  adjust(params: Record<string, string | null>, push = false): void {
    if (location.hash !== this.#hash) return;
    const { path } = this.#current;
    const hash = formatRoute(path, merge(this.#current.params, params));
    if (push) history.pushState(null, '', hash);
    else history.replaceState(null, '', hash);
    this.#follow();
  }

  #follow(): void {
    this.#hash = location.hash;
    this.#current = parseRoute(this.#hash);
  }
}

export const route = new Route();
