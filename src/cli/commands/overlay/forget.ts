import { ServiceError } from "../../../system/errors.ts";
import { command } from "../../command.ts";
import { chosenOverlay, openOverlays, overlayFlags } from "./chosen.ts";

export default command({
  name: "forget",
  description: "take back an adoption; the folder and what it holds stay as they are",
  examples: ["svc-mgr overlay forget", "svc-mgr overlay forget ~/project/.svc --json"],
  args: overlayFlags,
  async run({ args, io }) {
    const { overlays } = openOverlays(io);
    const path = chosenOverlay(io, args.path);
    if (!overlays.forget(path)) {
      throw new ServiceError("not_found", `${path} was not adopted; svc-mgr overlay list shows all`);
    }
    return { json: { schema_version: 1, path, forgotten: true }, text: `${path} is not used any more` };
  },
});
