/** Something that is asked of the service again and again. A request that is overtaken is aborted. */
import { isAbort } from '../api/error';

export class Loading<T> {
  /** The latest answer; it stays while the next is awaited. */
  value = $state.raw<T | null>(null);
  /** Why the latest request failed, or null. */
  problem = $state.raw<unknown>(null);
  isBusy = $state(false);
  #controller: AbortController | null = null;

  /** Asks. Returns the answer, or null if the request failed or was overtaken. */
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

  /** Gives up the request under way, if there is one. */
  abort(): void {
    this.#controller?.abort();
    this.#controller = null;
    this.isBusy = false;
  }

  /** Forgets the answer, as one to another question. */
  clear(): void {
    this.abort();
    this.value = null;
    this.problem = null;
  }
}
