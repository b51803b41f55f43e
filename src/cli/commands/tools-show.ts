import { createSystem } from "../../system/system.ts";
import { chooseProfile } from "../chosen-profile.ts";
import { command } from "../command.ts";
import { trustingSystem } from "../trusting-system.ts";
import { readProfiles } from "../world.ts";

export default command({
  name: "show",
  description: "print a tool's profile as a file of profiles, to begin one of your own",
  examples: ["svc-mgr tools show --tool codex > profiles.json"],
  args: {
    tool: { type: "string", required: true, description: "whose profile", valueHint: "TOOL" },
  },
  async run({ args, io }) {
    const { data } = chooseProfile(
      args.tool,
      readProfiles(trustingSystem(io, createSystem()).system, io.env),
    );
    const file = { schema_version: 1, profiles: [data] };
    // In the order of the schema, which is the order in which a person fills it in.
    return { json: file, text: JSON.stringify(file, null, 2) };
  },
});
