import { ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import type { Exposure } from "../../system/ownership.ts";
import { shellWord } from "../terminal/shell-word.ts";

/** The exposure as one clause, with the command that mends it. Pure. */
export function explainExposure({ path, reason, command }: Exposure): string {
  return `${path} ${reason}${command === null ? "" : `; run: ${command.map(shellWord).join(" ")}`}`;
}

/**
 * Throws `precondition_failed` when another user could change what `path` leads to, or when it lies in an overlay that
 * was not adopted. `what`: the subject of the message.
 */
export function refuseExposed(files: Pick<Files, "exposure">, path: string, what: string): void {
  const exposure = files.exposure(path);
  if (exposure === null) return;
  throw new ServiceError("precondition_failed", `${what} is refused: ${explainExposure(exposure)}`);
}
