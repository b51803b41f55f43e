import { createHash } from "node:crypto";

const safe = /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/;

/**
 * The turn id of a GUI's run: the run id itself where it can name a turn (the usual UUID does), else one made from it.
 * The same for the same run id, so that a repeated one is known again. Never a path. Pure.
 */
export function toTurnId(runId: string): string {
  if (safe.test(runId)) return runId;
  return `run-${createHash("sha256").update(runId).digest("hex").slice(0, 40)}`;
}
