import { allProfiles } from "../../services/terminal/profile.ts";
import { builtInProfiles } from "../../services/terminal/profiles/built-in.ts";
import { createSystem } from "../../system/system.ts";
import { command } from "../command.ts";
import { renderTable } from "../format.ts";
import { trustingSystem } from "../trusting-system.ts";
import { readProfiles } from "../world.ts";

export default command({
  name: "list",
  description: "the tool profiles, with the versions of the tools they were proved on",
  examples: ["svc-mgr tools list", "SVC_TOOL_PROFILES=/path/profiles.json svc-mgr tools list --json"],
  async run({ io }) {
    const overrides = readProfiles(trustingSystem(io, createSystem()).system, io.env);
    const rows = allProfiles(overrides).map((profile) => ({
      tool: profile.tool,
      profile_version: profile.profile_version,
      proved_versions: profile.proved_versions,
      tested: profile.tested,
      source: builtInProfiles.includes(profile) ? "built in" : "SVC_TOOL_PROFILES",
      executable: profile.executable,
    }));
    return {
      json: { tools: rows },
      text: renderTable(
        ["TOOL", "PROFILE", "PROVED ON", "SOURCE"],
        rows.map((row) => [
          row.tool,
          row.profile_version,
          row.tested ? row.proved_versions.join(", ") : "untested",
          row.source,
        ]),
      ),
    };
  },
});
