import { skills } from "../../services/skills/catalog.ts";
import { uninstallSkills } from "../../services/skills/uninstall.ts";
import { command } from "../command.ts";
import { renderTable } from "../format.ts";
import { atPlace, skillFlags, skillPlaces } from "../skill-flags.ts";
import { openWorld } from "../world.ts";

export default command({
  name: "uninstall",
  description: "take back from a tool the skills that were installed; what you changed or made is kept",
  examples: [
    "svc-mgr system-skills uninstall --tool claude",
    "svc-mgr system-skills uninstall --tool codex --home ~/.codex",
  ],
  args: skillFlags,
  async run(invocation) {
    const { args, io, inherited } = invocation;
    const places = skillPlaces(args, io);
    const { files } = openWorld(io, inherited);
    const results = places.map((place) => ({
      tool: place.tool,
      home_path: place.home,
      skills: atPlace(place, () => uninstallSkills(files, place, skills)),
    }));
    const kept = results.some((result) => result.skills.some(({ outcome }) => outcome === "kept"));
    return {
      json: results.length === 1 ? results[0] : { results },
      text: results
        .map(({ home_path, skills: told }) =>
          renderTable(
            ["SKILL", `IN ${home_path}`],
            told.map((one) => [one.name, one.outcome === "kept" ? `kept: ${one.why}` : one.outcome]),
          ),
        )
        .join("\n\n"),
      exitCode: kept ? 1 : 0,
    };
  },
});
