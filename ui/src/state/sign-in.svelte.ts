/** Who the user is: the token of the tab, and whether the service asks for one. */

/** What a token says of its bearer. It is shown, never trusted: the service verifies it. */
export interface Claims {
  subject: string | null;
  scopes: string[];
  /** Seconds since 1970; null if it does not expire. */
  expires: number | null;
}

const KEY = 'spanwise.token';

/** Returns the claims of a JSON web token; null if it is none. */
export function readClaims(token: string): Claims | null {
  const payload = token.split('.')[1];
  if (payload === undefined) return null;
  try {
    const bytes = Uint8Array.from(atob(payload.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));
    const claims = JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown>;
    const scopes = claims['scopes'];
    return {
      subject: typeof claims['sub'] === 'string' ? claims['sub'] : null,
      scopes: Array.isArray(scopes) ? scopes.filter((scope) => typeof scope === 'string') : [],
      expires: typeof claims['exp'] === 'number' ? claims['exp'] : null,
    };
  } catch {
    return null;
  }
}

class SignIn {
  #token = $state<string | null>(sessionStorage.getItem(KEY));

  /** Whether the service asks for a token; null until it said so. */
  required = $state<boolean | null>(null);

  /** Why the user has to sign in again, or null. */
  problem = $state<string | null>(null);

  get token(): string | null {
    return this.#token;
  }

  /** What the token says; null without one. */
  readonly claims = $derived(this.#token === null ? null : readClaims(this.#token));

  /** Whether the screens may be shown. */
  get isDone(): boolean {
    return this.required === false || (this.required === true && this.#token !== null);
  }

  /** Uses a token from now on; `keep` keeps it until the tab is closed, also when the page is loaded again. */
  use(token: string, keep: boolean): void {
    this.#token = token;
    this.problem = null;
    if (keep) sessionStorage.setItem(KEY, token);
    else sessionStorage.removeItem(KEY);
  }

  /** Forgets the token. */
  out(): void {
    this.#token = null;
    sessionStorage.removeItem(KEY);
  }

  /** The service refused a token: if it is still the one in use, the user is asked for another. */
  expire(refused: string | null): void {
    if (refused !== this.#token) return;
    this.problem = refused === null ? null : 'The token was refused: it has expired, or this service does not know it.';
    this.required = true;
    this.out();
  }
}

export const signIn = new SignIn();
