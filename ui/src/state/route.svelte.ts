/** The place in the page: the hash of its address, so that filters stay out of logs and referrers. */
import { formatRoute, merge, parseRoute, type Place } from './place';

class Route {
  /** The hash that `#place` was read from. */
  #hash = location.hash;
  #place = $state.raw<Place>(parseRoute(location.hash));

  constructor() {
    window.addEventListener('hashchange', () => {
      this.#follow();
    });
  }

  /** The screen: the first segment of the path. */
  get screen(): string {
    return this.#place.path[0] ?? '';
  }

  /** The segments of the path. */
  get path(): readonly string[] {
    return this.#place.path;
  }

  /** What the screen shows: the second segment of the path, or null. */
  get id(): string | null {
    return this.#place.path[1] ?? null;
  }

  /** The parameters. Changing them has no effect: use `go` or `adjust`. */
  get params(): URLSearchParams {
    return this.#place.params;
  }

  /** Goes to another place; the back button leads back. */
  go(path: string[], params: Record<string, string | null> = {}): void {
    location.hash = formatRoute(path, merge(new URLSearchParams(), params));
  }

  /** Goes to another place that takes the place of this one; the back button skips this one. */
  replace(path: string[], params: Record<string, string | null> = {}): void {
    const hash = formatRoute(path, merge(new URLSearchParams(), params));
    history.replaceState(null, '', hash);
    this.#follow();
  }

  /**
   * Changes parameters; null removes one. The back button skips the change, unless `push` is set. The call is ignored
   * if the address already leads elsewhere: a hash changes before its event arrives, and the parameters belong to the
   * screen that was left.
   */
  adjust(params: Record<string, string | null>, push = false): void {
    if (location.hash !== this.#hash) return;
    const { path } = this.#place;
    const hash = formatRoute(path, merge(this.#place.params, params));
    if (push) history.pushState(null, '', hash);
    else history.replaceState(null, '', hash);
    this.#follow();
  }

  #follow(): void {
    this.#hash = location.hash;
    this.#place = parseRoute(this.#hash);
  }
}

export const route = new Route();
