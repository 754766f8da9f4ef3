/** A refusal of the service: `{"detail": str, "error_code": str}` with its status; status 0 if it cannot be reached. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.code = code;
  }

  /** Returns the error that a response with this status and decoded body means. */
  static of(status: number, body: unknown): ApiError {
    const { detail, error_code: code } = (body ?? {}) as { detail?: unknown; error_code?: unknown };
    const message = typeof detail === 'string' ? detail : `The service answered with status ${String(status)}.`;
    return new ApiError(status, typeof code === 'string' ? code : 'UNKNOWN', message);
  }

  /**
   * The JSON path that the message ends with, as `$.conditions[1].value`, or null.
   * Paths of a request's filter begin below the filter.
   */
  get path(): string | null {
    const found = /at `(\$[^`]*)`$/.exec(this.message)?.[1];
    return found?.replace(/^\$\.filter(?=[.[]|$)/, '$') ?? null;
  }
}

/** Returns what to tell a user of any error. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Whether an error only says that a request was given up. */
export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}
