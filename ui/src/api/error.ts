/** An error response: `{"detail": str, "error_code": str}` with its status; status 0 if the service is unreachable. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.code = code;
  }

  /** Returns the error for a response with this status and decoded body. */
  static of(status: number, body: unknown): ApiError {
    const { detail, error_code: code } = (body ?? {}) as { detail?: unknown; error_code?: unknown };
    const message = typeof detail === 'string' ? detail : `The service answered with status ${String(status)}.`;
    return new ApiError(status, typeof code === 'string' ? code : 'UNKNOWN', message);
  }

  /**
   * The JSON path at the end of the message, such as `$.conditions[1].value`, or null.
   * A path inside the filter starts at the filter.
   */
  get path(): string | null {
    const found = /at `(\$[^`]*)`$/.exec(this.message)?.[1];
    return found?.replace(/^\$\.filter(?=[.[]|$)/, '$') ?? null;
  }
}

/** Returns the message to show for an error. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** True if the error is the cancellation of a request. */
export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}
