import { messageOf } from "../../system/errors.ts";

/** Bun's own words for these are questions and advice to whoever writes a browser. */
export function whyUnreachable(error: unknown, baseUrl: string): string {
  if (wasRefused(error)) return `nothing listens at ${baseUrl}`;
  if (codeOf(error) === "ECONNRESET") return `${baseUrl} closed the connection without an answer`;
  return `${baseUrl}: ${messageOf(error)}`;
}

export function wasRefused(error: unknown): boolean {
  return codeOf(error) === "ConnectionRefused" || codeOf(error) === "ECONNREFUSED";
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown }).code;
}
