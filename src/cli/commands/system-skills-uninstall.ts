import { skills } from "../../services/skills/catalog.ts";
import { uninstallSkills } from "../../services/skills/uninstall.ts";
import { command } from "../command.ts";
import { skillsAnswer } from "../skill-answer.ts";
import { atPlace, skillFlags, skillPlacesToWrite } from "../skill-flags.ts";
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
    const { files } = openWorld(io, inherited);
    const places = skillPlacesToWrite(args, io, files);
    const results = places.map((place) => ({
      tool: place.tool,
      home_path: place.home,
      skills: atPlace(place, () => uninstallSkills(files, place, skills)),
    }));
    return skillsAnswer(results);
  },
});
