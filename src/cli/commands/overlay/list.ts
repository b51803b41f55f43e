import { explainExposure } from "../../../services/sessions/trust.ts";
import { command } from "../../command.ts";
import { renderTable } from "../../format.ts";
import { openOverlays } from "./chosen.ts";

export default command({
  name: "list",
  description: "list the overlays that this user adopted, and which are not used any more",
  examples: ["svc-mgr overlay list", "svc-mgr overlay list --json"],
  async run({ io }) {
    const { overlays } = openOverlays(io);
    const found = overlays.list().map((adoption) => {
      const exposure = overlays.exposure(adoption.path);
      return { ...adoption, used: exposure === null, problem: exposure && explainExposure(exposure) };
    });
    return {
      json: { schema_version: 1, overlays: found },
      text:
        found.length === 0
          ? "no overlay was adopted"
          : renderTable(
              ["OVERLAY", "ADOPTED", "USED"],
              found.map(({ path, adopted_at, problem }) => [path, adopted_at, problem ?? "yes"]),
            ),
    };
  },
});
