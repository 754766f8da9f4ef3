/** The only HTTP client. Every request of the page goes through it. */
import createClient from 'openapi-fetch';

import { signIn } from '../state/sign-in.svelte';
import { ApiError } from './error';
import type { components, paths } from './schema';

export type Schema = components['schemas'];

/** The base URL of the service, with a trailing slash. The page is always one path segment below it. */
export const serviceUrl = new URL('.', document.baseURI);

/**
 * Fetches with the token of the tab. After a 401 the user signs in and returns to the same address.
 *
 * The service uses no cookies, but a proxy in front of it may have signed the user in with one.
 */
export async function fetchSigned(input: Request): Promise<Response> {
  const token = signIn.token;
  const request = new Request(input, { cache: 'no-store', credentials: 'same-origin' });
  if (token !== null) request.headers.set('Authorization', `Bearer ${token}`);
  let response: Response;
  try {
    response = await fetch(request);
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ApiError(0, 'UNREACHABLE', 'The service cannot be reached.');
  }
  if (response.status === 401) signIn.expire(token);
  return response;
}

export const client = createClient<paths>({ baseUrl: serviceUrl.href.replace(/\/$/, ''), fetch: fetchSigned });

/** Returns the parameter that selects a trace store; empty for the default store (null). */
export function inStore(store: string | null): { db_id?: string } {
  return store === null ? {} : { db_id: store };
}

interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/**
 * Returns the data of a response.
 *
 * @throws ApiError the service refused the request, or could not be reached.
 */
export async function expectData<T>(answer: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await answer;
  if (!response.ok) throw ApiError.of(response.status, error);
  return data as T;
}
