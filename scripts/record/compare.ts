import { parseScreen } from "../../src/services/terminal/screen.ts";
import type { Recording } from "./story.ts";

/**
 * What a recording shows apart from what differs each time it is made: numbers, ids, proofs, how far the
 * agent's answer got, how wide columns are. One text for each command that ended; the moments between depend
 * on when one looked.
 */
export function gistOf(recording: Recording): string[] {
  return recording.moments
    .filter((one) => one.kind === "done")
    .map(({ shell, agent }) =>
      [...rowsOf(shell), "-----", ...rowsOf(agent).filter((row) => !row.startsWith("* "))].join("\n"),
    );
}

function rowsOf(screen: string): string[] {
  return parseScreen(screen)
    .map(({ text }) =>
      text
        .replace(/\b[0-9a-f]{8,}\b|\d+/g, "0")
        .replace(/ +/g, " ")
        // What exactly proved a step depends on which repaint was seen first.
        .replace(/^(typed|submitted|turn_started|turn_ended) .*/, "$1")
        .trimEnd(),
    )
    .filter((row) => row !== "");
}
