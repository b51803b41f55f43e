import { join, resolve } from "node:path";
import { skills } from "../../services/skills/catalog.ts";
import { type SkillTool, skillHome, skillTools } from "../../services/skills/home.ts";
import { installSkills } from "../../services/skills/install.ts";
import { command, UsageError } from "../command.ts";
import { renderTable } from "../format.ts";
import { openWorld } from "../world.ts";

export default command({
  name: "install",
  description: "give a tool the skills by which its agents work with svc; what you changed is kept",
  examples: [
    "svc-mgr system-skills install --tool claude",
    "svc-mgr system-skills install --tool codex --home ~/.codex",
    "svc-mgr system-skills install --tool universal --symlink",
  ],
  args: {
    tool: {
      type: "string",
      required: true,
      description: `whose skills: ${skillTools.join(", ")}; several with commas`,
      valueHint: "TOOL[,TOOL]",
    },
    home: {
      type: "string",
      description: "the tool's home, for one tool; default: its own variable, else its folder here",
      valueHint: "DIR",
    },
    symlink: { type: "boolean", description: "link to one copy instead of writing files" },
  },
  async run(invocation) {
    const { args, io, inherited } = invocation;
    const tools = readTools(args.tool);
    if (args.home !== undefined && tools.length > 1) throw new UsageError("--home is for one tool");
    const world = openWorld(io, inherited);
    const projection = args.symlink ? "symlink" : "copy";
    const results = tools.map((tool) => {
      const named = args.home === undefined ? null : resolve(io.cwd, args.home);
      const home = skillHome(tool, { named, env: io.env, cwd: io.cwd, home: io.home });
      const storeRoot = join(world.roots.runtimeRoot, "system-skills");
      const { outcomes, configPath } = installSkills(
        { files: world.files, storeRoot },
        { tool, home, projection, skills },
      );
      return {
        tool,
        home_path: home,
        projected_relative_dirs: outcomes
          .filter(({ outcome }) => outcome !== "kept")
          .map(({ name }) => `skills/${name}`),
        config_path: configPath,
        projection_mode: projection,
        skills: outcomes,
      };
    });
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

function readTools(text: string): SkillTool[] {
  const words = [...new Set(text.split(",").map((word) => word.trim()))];
  return words.map((word) => {
    const tool = skillTools.find((known) => known === word);
    if (!tool) throw new UsageError(`--tool must be of ${skillTools.join(", ")}, not "${word}"`);
    return tool;
  });
}
