import { skills } from "../../services/skills/catalog.ts";
import { ownHomes, type SkillTool, skillTools } from "../../services/skills/home.ts";
import { recordPath, type SkillState, skillStates, type ToolPlace } from "../../services/skills/ownership.ts";
import { type CliIo, command, UsageError } from "../command.ts";
import { renderTable } from "../format.ts";
import { readSkillTools, skillPlaces } from "../skill-flags.ts";
import { openWorld } from "../world.ts";

interface Home {
  tool: string;
  home_path: string;
  config_path: string;
  skills: { name: string; state: SkillState }[];
}

export default command({
  name: "list",
  description: "the skills that come with svc, and how they stand where tools look for them",
  examples: ["svc-mgr system-skills list", "svc-mgr system-skills list --tool codex --home ~/.codex --json"],
  args: {
    tool: {
      type: "string",
      description: "only how they stand for these tools; several with commas",
      valueHint: "TOOL[,TOOL]",
      offers: "skill-tools",
    },
    home: {
      type: "string",
      description: "look into this home of the tool that --tool names",
      valueHint: "DIR",
    },
  },
  async run({ args, io, inherited }) {
    const { files } = openWorld(io, inherited);
    const homes = placesToLook(args, io)
      .map((place): Home => {
        const states = skillStates(files, place, skills);
        return {
          tool: place.tool,
          home_path: place.home,
          config_path: recordPath(place),
          skills: states,
        };
      })
      .filter((home) => args.home !== undefined || home.skills.some(({ state }) => state !== "absent"));
    const rows = skills.map(({ name, text }) => [name, descriptionOf(text)]);
    return {
      json: {
        skills: rows.map(([name, description]) => ({ name, description })),
        tools: skillTools,
        homes,
      },
      text: [
        renderTable(["SKILL", "FOR"], rows),
        ...homes.map(renderHome),
        homes.length === 0 ? "installed nowhere that a tool looks by default" : "",
        `tools: ${skillTools.join(", ")}`,
      ]
        .filter((part) => part !== "")
        .join("\n\n"),
    };
  },
});

function placesToLook(
  { tool, home }: { tool: string | undefined; home: string | undefined },
  io: Pick<CliIo, "env" | "cwd" | "home">,
): ToolPlace[] {
  if (home !== undefined) {
    if (tool === undefined) throw new UsageError("--home needs --tool: whose home it is");
    return skillPlaces({ tool, home }, io);
  }
  const tools: readonly SkillTool[] = tool === undefined ? skillTools : readSkillTools(tool);
  return tools.flatMap((one) => ownHomes(one, io).map((path) => ({ tool: one, home: path })));
}

function renderHome({ tool, home_path, skills: states }: Home): string {
  const table = renderTable(
    [tool.toUpperCase(), `IN ${home_path}`],
    states.map(({ name, state }) => [name, state]),
  );
  if (!states.some(({ state }) => state === "outdated")) return table;
  return `${table}\nBring them up to date: svc-mgr system-skills install --tool ${tool} --home ${home_path}`;
}

function descriptionOf(text: string): string {
  return /^description: (.*)$/m.exec(text)?.[1] ?? "";
}
