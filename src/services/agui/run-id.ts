import { sha256 } from "../../system/digest.ts";

const safe = /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/;

/**
 * The turn id of a GUI's run: the run id itself where it can name a turn (the usual UUID does), else one made from it.
 * The same for the same run id, so that a repeated one is known again. Never a path. Pure.
 */
export function toTurnId(runId: string): string {
  if (safe.test(runId)) return runId;
  return `run-${sha256(runId).slice(0, 40)}`;
}
