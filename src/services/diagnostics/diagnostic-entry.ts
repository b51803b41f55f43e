/** One line of the diagnostic log, before it is written. */
export interface Diagnostic {
  level: DiagnosticLevel;
  /** Dotted: `gateway.http_request_completed`. */
  event: string;
  fields: Readonly<Record<string, unknown>>;
  /** What makes two warnings or errors say the same; the event alone when absent. */
  dedupKey?: string;
}

export type DiagnosticLevel = "info" | "warning" | "error";

const forbiddenNames =
  /(?:^|_)(?:attachments?|authorization|bearer|body|cookies?|credential\w*|env|password|prompt|secret|tokens?)$|^raw_|_(?:path|dir|root|file)$/i;
const maxTextLength = 300;
/** As deep as the `loc` of a finding in a list of findings. */
const maxDepth = 4;

/**
 * What of some fields may be written down: nothing under a name that could hold a prompt, a body, a secret or a
 * place on this machine, at any depth, and no long text. Pure. Source: contract 2.8; spec/gateway.md "Diagnostics".
 */
export function safeFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return safe(fields, 0) as Record<string, unknown>;
}

function safe(value: unknown, depth: number): unknown {
  if (typeof value === "string") return value.slice(0, maxTextLength);
  if (value === null || typeof value !== "object") return value;
  if (depth >= maxDepth) return undefined;
  if (Array.isArray(value)) return value.slice(0, 20).map((one) => safe(one, depth + 1) ?? null);
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !forbiddenNames.test(name))
      .map(([name, one]) => [name, safe(one, depth + 1)]),
  );
}

/** A line of the log, without its end. Pure. */
export function renderDiagnostic(diagnostic: Diagnostic, timestampUtc: string): string {
  const { level, event, fields } = diagnostic;
  const head = { schema_version: 1, timestamp_utc: timestampUtc, level, event };
  const key = level === "info" ? {} : { dedup_key: dedupKeyOf(diagnostic) };
  // Twice: the first gives the order, the second the last word.
  return JSON.stringify({ ...head, ...safeFields(fields), ...head, ...key });
}

export function dedupKeyOf(diagnostic: Diagnostic): string {
  return diagnostic.dedupKey ?? diagnostic.event;
}
