/** The sign-in state: the token of the tab, and whether the service requires one. */

/** The claims of a token. They are only displayed; the service verifies the token. */
export interface Claims {
  subject: string | null;
  scopes: string[];
  /** Seconds since 1970; null if it does not expire. */
  expires: number | null;
}

const KEY = 'spanwise.token';

/** Returns the claims of a JSON Web Token; null for any other text. */
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

  /** True if the service requires a token; null until this is known. */
  required = $state<boolean | null>(null);

  /** Why the user has to sign in again, or null. */
  problem = $state<string | null>(null);

  get token(): string | null {
    return this.#token;
  }

  /** The claims of the token; null without a token. */
  readonly claims = $derived(this.#token === null ? null : readClaims(this.#token));

  /** True if the screens may be shown. */
  get isDone(): boolean {
    return this.required === false || (this.required === true && this.#token !== null);
  }

  /** Sets the token. With `keep` it survives reloads, until the tab is closed. */
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

  /** Handles a rejected token. If it is still in use, the user must enter another one. */
  expire(refused: string | null): void {
    if (refused !== this.#token) return;
    this.problem = refused === null ? null : 'The token was refused: it has expired, or this service does not know it.';
    this.required = true;
    this.out();
  }
}

export const signIn = new SignIn();
