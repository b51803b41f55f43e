import { type Static, Type } from "@sinclair/typebox";
import { parseJson, renderJson } from "../../../../protocol/json.ts";
import { type Clock, timestampNow } from "../../../../system/clock.ts";
import type { Files } from "../../../../system/files.ts";
import { transcriptPaths } from "../../../sessions/conversations.ts";
import { parseScreen } from "../../../terminal/screen.ts";
import type { ScreenCapture } from "./screen-turn.ts";

/** last-screen.json: what an agent's terminal showed when it was last kept. */
const LastScreen = Type.Object({
  schema_version: Type.Literal(1),
  at_utc: Type.String(),
  rows: Type.Array(Type.String()),
});
type LastScreen = Static<typeof LastScreen>;

/**
 * Keeps the screen without what was scrolled out of sight; what looks like a secret is overwritten. A session
 * whose folder was removed gets nothing.
 */
export async function saveLastScreen(
  { files, clock }: { files: Files; clock: Clock },
  sessionRoot: string,
  { text, height }: ScreenCapture,
): Promise<void> {
  // Loaded at the first end of a turn, not at the start of each gateway.
  const { redactText } = await import("../recorder/redact.ts");
  const rows = parseScreen(text).slice(-height);
  const kept: LastScreen = {
    schema_version: 1,
    at_utc: timestampNow(clock),
    rows: redactText(rows.map((row) => row.text.trimEnd()).join("\n")).split("\n"),
  };
  if (!files.exists(sessionRoot)) return;
  const { root, lastScreen } = transcriptPaths(sessionRoot);
  files.ensureDirectory("file:transcript-folder", root);
  // Of a gateway that was killed while it wrote.
  files.removeLeftovers("file:leftovers", root);
  files.write("file:transcript-last-screen", lastScreen, renderJson(kept), { durable: false });
}

/** Null where none was kept, or it cannot be read. */
export function readLastScreen(files: Files, sessionRoot: string): LastScreen | null {
  return parseJson(LastScreen, files.read(transcriptPaths(sessionRoot).lastScreen));
}
