import { dirname, resolve } from "node:path";
import { type SkillTool, skillHome, skillTools } from "../services/skills/home.ts";
import type { ToolPlace } from "../services/skills/ownership.ts";
import { ServiceError } from "../system/errors.ts";
import type { Files } from "../system/files.ts";
import { type CliIo, type Flags, UsageError } from "./command.ts";

/** Whose skills, and where. */
export const skillFlags = {
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

/** The places that the flags mean, one for each tool. A relative `home` counts from the working directory. */
export function skillPlaces(
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
 * As `skillPlaces`, for what writes there. Throws `precondition_failed` where the project has a symbolic link that leads
 * out of it in place of a tool's folder: a repository could choose where files are made and removed.
 */
export function skillPlacesToWrite(
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
export function readSkillTools(text: string): SkillTool[] {
  const words = [...new Set(text.split(",").map((word) => word.trim()))];
  return words.map((word) => {
    const tool = skillTools.find((known) => known === word);
    if (!tool) throw new UsageError(`--tool must be of ${skillTools.join(", ")}, not "${word}"`);
    return tool;
  });
}

/** Runs `act` on a place; where its path leads over something that is no folder, says so and what to do. */
export function atPlace<T>({ home }: ToolPlace, act: () => T): T {
  try {
    return act();
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (typeof code !== "string" || !/^(?:ENOTDIR|EEXIST|EISDIR|ELOOP|ENAMETOOLONG)$/.test(code)) throw error;
    const why = `${home} cannot hold skills: something in its way is no folder (${code}).`;
    throw new ServiceError("invalid_request", `${why} Name another home with --home`, { cause: error });
  }
}
