import { judgeOverlay } from "../../../services/sessions/overlays.ts";
import { explainExposure } from "../../../services/sessions/trust.ts";
import { command } from "../../command.ts";
import { renderPairs } from "../../format.ts";
import { chosenOverlay, openOverlays, overlayFlags } from "./chosen.ts";

export default command({
  name: "status",
  description: "say whether a project overlay is used, and why not; changes nothing",
  examples: ["svc-mgr overlay status", "svc-mgr overlay status ~/project --json"],
  args: overlayFlags,
  async run({ args, io }) {
    const { files, overlays } = openOverlays(io);
    const path = chosenOverlay(io, args.path);
    const met = args.path === undefined ? judgeOverlay(files, overlays, io.env, io.cwd) : null;
    const exposure = met ? null : overlays.exposure(path);
    const problem = met ? met.refusal : exposure && explainExposure(exposure);
    const adoption = overlays.adoptionOf(path);
    return {
      json: { schema_version: 1, path, used: problem === null, problem, adoption },
      text: renderPairs([
        ["overlay", path],
        ["used", problem === null ? "yes" : "no"],
        ["trouble", problem],
        ["adopted", adoption?.adopted_at],
      ]),
      exitCode: problem === null ? 0 : 1,
    };
  },
});
