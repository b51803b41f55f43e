import { command } from "../../command.ts";
import { chosenOverlay, openOverlays, overlayFlags } from "./chosen.ts";

export default command({
  name: "adopt",
  description: "trust a project overlay: its sessions, mail and settings are used from now on",
  examples: ["svc-mgr overlay adopt", "svc-mgr overlay adopt ~/project --json"],
  args: overlayFlags,
  async run({ args, io }) {
    const { overlays } = openOverlays(io);
    const adoption = overlays.adopt(chosenOverlay(io, args.path), "command");
    return {
      json: { schema_version: 1, overlay: adoption },
      text: `adopted ${adoption.path}\nWho can write there decides what agents run: take it back with: svc-mgr overlay forget`,
    };
  },
});
