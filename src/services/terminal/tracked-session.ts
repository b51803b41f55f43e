import { join } from "node:path";
import type { Manifest } from "../../protocol/files.ts";
import type { TrackedSession } from "../../protocol/terminal.ts";

/** What a manifest says of the session whose terminal is tracked. Source: spec/terminal.md 1; coordination. */
export function toTrackedSession(manifest: Manifest, sessionRoot: string): TrackedSession {
  return {
    tracked_session_id: manifest.runtime.session_id,
    session_name: manifest.tmux_session_name,
    tool: manifest.tool,
    observed_tool_version: null,
    tmux_session_name: manifest.tmux_session_name,
    tmux_window_name: manifest.tmux.primary_window_name ?? manifest.interactive?.tmux_window_name ?? null,
    terminal_aliases: [],
    agent_name: manifest.agent_name,
    agent_id: manifest.agent_id,
    manifest_path: join(sessionRoot, "manifest.json"),
    session_root: sessionRoot,
  };
}
