import type { Kind } from '../../api/components';
import { isAbort } from '../../api/error';
import { cancelRun, continueRun, resumeRun, startRun, type RunEvent, type RunKey } from '../../api/runs';
import { announcer } from '../../state/announcer.svelte';
import { advance, NOTHING, type Progress } from './progress';

/** The maximum number of reconnections to a broken stream, and the wait between them in milliseconds. */
const RESUMES = 5;
const RESUME_MS = 800;

/** One run in the playground: its message, its progress and its actions. */
export class Run {
  readonly kind: Kind;
  readonly component: string;
  readonly form: Record<string, string>;
  progress = $state.raw<Progress>(NOTHING);
  /** Why its events cannot be read, or null. */
  problem = $state.raw<unknown>(null);
  /** True while its events are read. */
  streaming = $state(false);

  #controller = new AbortController();

  constructor(kind: Kind, component: string, form: Record<string, string>) {
    this.kind = kind;
    this.component = component;
    this.form = form;
  }

  get message(): string {
    return this.form['message'] ?? '';
  }

  /** Starts the run and follows it until it ends or pauses. */
  start(): Promise<void> {
    return this.#follow(startRun(this.kind, this.component, this.form, this.#controller.signal));
  }

  /** Answers the requirements of the run and continues to follow it. */
  answer(answers: unknown[]): Promise<void> {
    const key = this.#key();
    if (key === null) return Promise.resolve();
    const { message, session_state: state, dependencies, metadata, ...form } = this.form;
    void [message, state, dependencies, metadata];
    return this.#follow(continueRun(key, answers, form, this.#controller.signal));
  }

  /** Resumes after the last event that was read. */
  reconnect(): Promise<void> {
    const key = this.#key();
    if (key === null) return Promise.resolve();
    return this.#follow(resumeRun(key, this.progress.lastIndex, this.#controller.signal));
  }

  /** Ends the run. */
  async cancel(): Promise<void> {
    const key = this.#key();
    if (key === null) return;
    try {
      await cancelRun(key);
    } catch (error) {
      this.problem = error;
    }
  }

  /** Stops reading; the run continues in the service. */
  leave(): void {
    this.#controller.abort();
  }

  #key(): RunKey | null {
    const run = this.progress.run;
    return run === null ? null : { kind: this.kind, component: this.component, run };
  }

  async #follow(events: AsyncGenerator<RunEvent>): Promise<void> {
    this.streaming = true;
    this.problem = null;
    let source = events;
    for (let attempt = 0; ; attempt += 1) {
      const error = await this.#read(source);
      const key = this.#key();
      const isOpen = this.progress.status === 'running' && !this.#controller.signal.aborted;
      if (!isOpen) break;
      if (key === null || attempt === RESUMES || !isInterruption(error)) {
        this.problem = error ?? new Error('The stream ended before the run did.');
        break;
      }
      await new Promise((resolve) => setTimeout(resolve, RESUME_MS));
      source = resumeRun(key, this.progress.lastIndex, this.#controller.signal);
    }
    this.streaming = false;
    if (!this.#controller.signal.aborted) announcer.say(`The run is ${this.progress.status}`);
  }

  /** Reads events to the end of a stream; returns why it broke, or null. */
  async #read(events: AsyncGenerator<RunEvent>): Promise<unknown> {
    try {
      for await (const event of events) this.progress = advance(this.progress, event);
      return null;
    } catch (error) {
      if (!isAbort(error)) return error;
      return null;
    }
  }
}

function isInterruption(error: unknown): boolean {
  return error === null || (error as { status?: number }).status === 0;
}
