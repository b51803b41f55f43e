/**
 * Every reason for which a service refuses or fails an operation. The table in `routes/http/errors.ts` maps
 * each code to one HTTP status; a code without a row does not compile.
 */
export type ServiceErrorCode =
  | "invalid_request"
  | "too_large"
  | "not_found"
  | "conflict"
  | "ambiguous"
  | "blocked_reconciliation"
  | "unavailable"
  | "unsupported"
  | "headless_only"
  | "not_implemented"
  | "dispatch_failed"
  | "transport_failed"
  /** No answer came, so the operation may have been carried out. The message says how to find out. */
  | "outcome_unknown"
  | "precondition_failed";

/**
 * Thrown by a service that cannot continue, and turned into an answer at the boundary (route, loop turn,
 * CLI). `message` is shown to callers, so it never holds a prompt, a mail body, a token or a path that the
 * caller did not send. The field is `reason` because Elysia interprets a `code` of an error.
 */
export class ServiceError extends Error {
  readonly reason: ServiceErrorCode;
  readonly data: Readonly<Record<string, unknown>> | undefined;

  constructor(
    reason: ServiceErrorCode,
    message: string,
    options: { data?: Readonly<Record<string, unknown>>; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "ServiceError";
    this.reason = reason;
    this.data = options.data;
  }
}

/**
 * Wraps an error as a refusal and keeps the data of `error`, such as its remedy. `toText` converts the
 * message of `error`; `data` is added.
 */
export function wrapRefusal(
  error: unknown,
  reason: ServiceErrorCode,
  toText: (message: string) => string = (message) => message,
  data: Readonly<Record<string, unknown>> = {},
): ServiceError {
  const previousData = error instanceof ServiceError ? error.data : undefined;
  return new ServiceError(reason, toText(messageOf(error)), {
    cause: error,
    data: { ...previousData, ...data },
  });
}

/** Marks a `switch` over a closed union as complete: a new member fails to compile here. */
export function assertNever(value: never): never {
  throw new Error(`unexpected value: ${JSON.stringify(value)}`);
}

/** The message of anything that was thrown, on one line. */
export function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replace(/\s+/g, " ").trim();
}

/** The error of one step of a longer work; its message begins with the step. */
export function stepError(step: string, cause: unknown): Error {
  return new Error(`${step}: ${messageOf(cause)}`, { cause });
}

/** Does one step of a longer work; the message of its error begins with the step. */
export async function runStep<T>(step: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw stepError(step, error);
  }
}

/** The log entry of a fault: its message on one line and its stack. */
export function describeFault(error: unknown): { message: string; stack: string | null } {
  return { message: messageOf(error), stack: error instanceof Error ? (error.stack ?? null) : null };
}

/** Returns a function that reports a fault of `about` once, until the fault changes or ends; null ends it. */
export function createFaultReport(
  report: (about: string, error: unknown) => void,
): (about: string, error: unknown) => void {
  const last = new Map<string, string>();
  return (about, error) => {
    if (error === null) return void last.delete(about);
    const message = messageOf(error);
    if (last.get(about) !== message) report(about, error);
    last.set(about, message);
  };
}
