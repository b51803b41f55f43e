import { join } from "node:path";
import { renderJson } from "../../protocol/json.ts";
import type { Files } from "../../system/files.ts";

/**
 * The variables that a launch set for a headless agent's tool, or a join was told, with their values: each turn, and the
 * agent again, is started later, by somebody who was not told them. A file of the session's own private folder, 0600; the
 * manifest has the names only.
 */
const fileName = "launch-environment.json";

export function saveLaunchEnvironment(
  files: Files,
  sessionRoot: string,
  variables: Readonly<Record<string, string>>,
): void {
  if (Object.keys(variables).length === 0) return;
  files.write("file:launch-environment", join(sessionRoot, fileName), renderJson(variables));
}

/** Nothing when there is no file, or none of ours. */
export function readLaunchEnvironment(files: Files, sessionRoot: string): Record<string, string> {
  const text = files.readOwn(join(sessionRoot, fileName));
  if (text === null) return {};
  try {
    const entries = Object.entries(JSON.parse(text) as Record<string, unknown>);
    return Object.fromEntries(
      entries.filter((entry): entry is [string, string] => typeof entry[1] === "string"),
    );
  } catch {
    return {};
  }
}
