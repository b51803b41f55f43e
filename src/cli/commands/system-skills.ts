import { dirname, join, resolve } from "node:path";
import { skills } from "../../services/skills/catalog.ts";
import { installSkills, uninstallSkills } from "../../services/skills/install.ts";
import {
  ownHomes,
  recordPath,
  type SkillState,
  type SkillTool,
  skillHome,
  skillStates,
  skillTools,
  type ToolPlace,
} from "../../services/skills/ownership.ts";
import { ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import { openCliContext } from "../command-line/cli-context.ts";
import { type Answer, type CliIo, command, type Flags, UsageError } from "../command-line/command.ts";
import { renderTable } from "../command-line/format.ts";

/** Whose skills, and where. */
const skillFlags = {
  tool: {
    type: "string",
    required: true,
    description: `whose skills: ${skillTools.join(", ")}; several with commas`,
    valueHint: "TOOL[,TOOL]",
    offers: "skill-tools",
  },
  home: {
    type: "string",
    description: "the tool's home, for one tool; default: its own variable, else its folder here",
    valueHint: "DIR",
  },
} as const satisfies Flags;

const install = command({
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
    const context = openCliContext(io, inherited);
    const places = skillPlacesToWrite(args, io, context.files);
    const projection = args.symlink ? "symlink" : "copy";
    const storeRoot = join(context.roots.runtimeRoot, "system-skills");
    const results = places.map((place) => {
      const { outcomes, configPath } = atPlace(place, () =>
        installSkills({ files: context.files, storeRoot }, { ...place, projection, skills }),
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

const uninstall = command({
  name: "uninstall",
  description: "take back from a tool the skills that were installed; what you changed or made is kept",
  examples: [
    "svc-mgr system-skills uninstall --tool claude",
    "svc-mgr system-skills uninstall --tool codex --home ~/.codex",
  ],
  args: skillFlags,
  async run(invocation) {
    const { args, io, inherited } = invocation;
    const { files } = openCliContext(io, inherited);
    const places = skillPlacesToWrite(args, io, files);
    const results = places.map((place) => ({
      tool: place.tool,
      home_path: place.home,
      skills: atPlace(place, () => uninstallSkills(files, place, skills)),
    }));
    return skillsAnswer(results);
  },
});

interface Home {
  tool: string;
  home_path: string;
  config_path: string;
  skills: { name: string; state: SkillState }[];
}

const list = command({
  name: "list",
  description: "the skills that come with svc, and their state where tools look for them",
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
    const { files } = openCliContext(io, inherited);
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
        ...homes.map((home) => renderHome(io.program, home)),
        homes.length === 0 ? "installed nowhere that a tool looks by default" : "",
        `tools: ${skillTools.join(", ")}`,
      ]
        .filter((part) => part !== "")
        .join("\n\n"),
    };
  },
});

export const skillCommands = { install, uninstall, list };

interface PlaceResult {
  home_path: string;
  skills: readonly ({ name: string; outcome: "kept"; why: string } | { name: string; outcome: string })[];
}

/** The outcome of each skill in each home. Exit code 1 when a person's edits were kept. */
function skillsAnswer(results: readonly PlaceResult[]): Answer {
  const kept = results.some((result) => result.skills.some(({ outcome }) => outcome === "kept"));
  return {
    json: results.length === 1 ? results[0] : { results },
    text: results
      .map(({ home_path, skills }) =>
        renderTable(
          ["SKILL", `IN ${home_path}`],
          skills.map((one) => [one.name, "why" in one ? `kept: ${one.why}` : one.outcome]),
        ),
      )
      .join("\n\n"),
    exitCode: kept ? 1 : 0,
  };
}

/** The places that the flags mean, one for each tool. A relative `home` counts from the working directory. */
function skillPlaces(
  args: { tool: string; home: string | undefined },
  io: Pick<CliIo, "env" | "cwd" | "home">,
): ToolPlace[] {
  const tools = readSkillTools(args.tool);
  if (args.home !== undefined && tools.length > 1) throw new UsageError("--home is for one tool");
  const named = args.home === undefined ? null : resolve(io.cwd, args.home);
  const { env, cwd, home } = io;
  return tools.map((tool) => ({ tool, home: skillHome(tool, { named, env, cwd, home }) }));
}

/**
 * As `skillPlaces`, for what writes there. Throws `precondition_failed` where the project has a symbolic link
 * that leads out of it in place of a tool's folder: a repository could choose where files are made and
 * removed.
 */
function skillPlacesToWrite(
  args: { tool: string; home: string | undefined },
  io: Pick<CliIo, "env" | "cwd" | "home">,
  files: Pick<Files, "isLink" | "realPath">,
): ToolPlace[] {
  const places = skillPlaces(args, io);
  if (args.home !== undefined) return places;
  const project = files.realPath(io.cwd);
  for (const { home } of places) {
    if (dirname(home) !== io.cwd || !files.isLink(home)) continue;
    const target = files.realPath(home);
    if (target !== null && project !== null && target.startsWith(`${project}/`)) continue;
    throw new ServiceError(
      "precondition_failed",
      `${home} is a symbolic link out of this folder${target === null ? "" : ` to ${target}`}. If you want the skills there, name it with --home`,
    );
  }
  return places;
}

/** Tools named with commas between them, each once. */
function readSkillTools(text: string): SkillTool[] {
  const words = [...new Set(text.split(",").map((word) => word.trim()))];
  return words.map((word) => {
    const tool = skillTools.find((known) => known === word);
    if (!tool) throw new UsageError(`--tool must be of ${skillTools.join(", ")}, not "${word}"`);
    return tool;
  });
}

/** Runs `act` on a place; where its path leads over something that is no folder, says so and what to do. */
function atPlace<T>({ home }: ToolPlace, act: () => T): T {
  try {
    return act();
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (typeof code !== "string" || !/^(?:ENOTDIR|EEXIST|EISDIR|ELOOP|ENAMETOOLONG)$/.test(code)) throw error;
    const why = `${home} cannot hold skills: something in its way is no folder (${code}).`;
    throw new ServiceError("invalid_request", `${why} Name another home with --home`, { cause: error });
  }
}

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

function renderHome(program: string, { tool, home_path, skills: states }: Home): string {
  const table = renderTable(
    [tool.toUpperCase(), `IN ${home_path}`],
    states.map(({ name, state }) => [name, state]),
  );
  if (!states.some(({ state }) => state === "outdated")) return table;
  return `${table}\nBring them up to date: ${program} system-skills install --tool ${tool} --home ${home_path}`;
}

function descriptionOf(text: string): string {
  return /^description: (.*)$/m.exec(text)?.[1] ?? "";
}
