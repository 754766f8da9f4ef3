/** A repeated request to the service. A new request aborts the running one. */
import { isAbort } from '../api/error';

export class Loading<T> {
  /** The latest response; it stays until the next one arrives. */
  value = $state.raw<T | null>(null);
  /** Why the latest request failed, or null. */
  problem = $state.raw<unknown>(null);
  isBusy = $state(false);
  #controller: AbortController | null = null;

  /** Sends a request. Returns the response, or null if it failed or was superseded. */
  async load(request: (signal: AbortSignal) => Promise<T>): Promise<T | null> {
    this.abort();
    const controller = new AbortController();
    this.#controller = controller;
    this.isBusy = true;
    try {
      const value = await request(controller.signal);
      if (controller.signal.aborted) return null;
      this.value = value;
      this.problem = null;
      return value;
    } catch (error) {
      if (!controller.signal.aborted && !isAbort(error)) this.problem = error;
      return null;
    } finally {
      if (this.#controller === controller) this.isBusy = false;
    }
  }

  /** Cancels the running request, if there is one. */
  abort(): void {
    this.#controller?.abort();
    this.#controller = null;
    this.isBusy = false;
  }

  /** Clears the response, for example before a different request. */
  clear(): void {
    this.abort();
    this.value = null;
    this.problem = null;
  }
}
