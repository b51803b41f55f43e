import { join } from "node:path";
import { skills } from "../../services/skills/catalog.ts";
import { installSkills } from "../../services/skills/install.ts";
import { command } from "../command.ts";
import { skillsAnswer } from "../skill-answer.ts";
import { atPlace, skillFlags, skillPlacesToWrite } from "../skill-flags.ts";
import { openWorld } from "../world.ts";

export default command({
  name: "install",
  description:
    "give a tool the skills by which its agents work with svc, or bring them up to date; what you changed is kept",
  examples: [
    "svc-mgr system-skills install --tool claude",
    "svc-mgr system-skills install --tool codex --home ~/.codex",
    "svc-mgr system-skills install --tool universal --symlink",
  ],
  args: {
    ...skillFlags,
    symlink: { type: "boolean", description: "link to one copy instead of writing files" },
  },
  async run(invocation) {
    const { args, io, inherited } = invocation;
    const world = openWorld(io, inherited);
    const places = skillPlacesToWrite(args, io, world.files);
    const projection = args.symlink ? "symlink" : "copy";
    const storeRoot = join(world.roots.runtimeRoot, "system-skills");
    const results = places.map((place) => {
      const { outcomes, configPath } = atPlace(place, () =>
        installSkills({ files: world.files, storeRoot }, { ...place, projection, skills }),
      );
      return {
        tool: place.tool,
        home_path: place.home,
        projected_relative_dirs: outcomes
          .filter(({ outcome }) => outcome !== "kept")
          .map(({ name }) => `skills/${name}`),
        config_path: configPath,
        projection_mode: projection,
        skills: outcomes,
      };
    });
    return skillsAnswer(results);
  },
});
