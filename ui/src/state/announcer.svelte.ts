/** Announces purely visual changes to screen readers: result counts, copies, ends of runs. */
class Announcer {
  message = $state('');
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Announces a message. Of several within half a second, only the last is announced. */
  say(message: string): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => (this.message = message), 500);
  }
}

export const announcer = new Announcer();
