import { maxSpoolBytes, toSpoolLine } from "../../services/extensions/bridges/signals/spool-line.ts";
import { parsePayload, toReportedEvent } from "../../services/extensions/bridges/signals/tool-events.ts";
import { createClock } from "../../system/clock.ts";
import { sha256 } from "../../system/digest.ts";
import { createIds } from "../../system/ids.ts";
import { appendToOwn } from "../../system/own-file.ts";
import { readHookInput } from "../../system/read-input.ts";

/** A payload that is longer is reported without its long fields. */
const inputLimits = { maxBytes: 2 ** 20, withinMs: 1000 };

/**
 * The hook command of a tool: appends what its event reports to the spool of the session. The payload is the
 * last argument, else standard input. Always 0 and silent: what a hook prints or returns would change what
 * the tool does.
 */
export async function runSignal(argv: readonly string[]): Promise<0> {
  const [tool, spool, given] = argv;
  try {
    if (tool === undefined || spool === undefined) return 0;
    const payload = given ?? (await readHookInput(inputLimits));
    const event = toReportedEvent(tool, parsePayload(payload));
    if (event === null) return 0;
    const line = toSpoolLine({
      schema_version: 1,
      id: createIds().uuid(),
      tool,
      at_ms: createClock().nowMs(),
      ...event,
      prompt_sha256: event.prompt === null ? null : sha256(event.prompt),
    });
    appendToOwn(spool, line, maxSpoolBytes);
  } catch {
    // A tool must never notice its witness.
  }
  return 0;
}
