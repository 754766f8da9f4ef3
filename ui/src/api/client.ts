/** The one client of the service. Every request of the page goes through it. */
import createClient from 'openapi-fetch';

import { signIn } from '../state/sign-in.svelte';
import { ApiError } from './error';
import type { components, paths } from './schema';

export type Schema = components['schemas'];

/** The address of the service, with a slash at the end. The page is one segment below it, whatever the prefix. */
export const serviceUrl = new URL('.', document.baseURI);

/**
 * Fetches with the token of the tab. A 401 leads back to the sign-in, which keeps the place.
 *
 * The service knows no cookies; a proxy before it may have signed the user in by one.
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

/** Returns the parameter that addresses a trace store; none for the default one, null. */
export function inStore(store: string | null): { db_id?: string } {
  return store === null ? {} : { db_id: store };
}

interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/**
 * Returns the data of an answer.
 *
 * @throws ApiError the service refused the request, or could not be reached.
 */
export async function expectData<T>(answer: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await answer;
  if (!response.ok) throw ApiError.of(response.status, error);
  return data as T;
}
