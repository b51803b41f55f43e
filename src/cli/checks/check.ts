import type { LaunchTool } from "../../services/sessions/launch-tools.ts";
import { launchVersionTimeoutMs, readToolVersion } from "../../services/sessions/tool-version.ts";
import type { CliContext } from "../command-line/cli-context.ts";

/**
 * `damaged`: an agent of ours cannot work until it is mended. `missing`: needed and not there. `absent`: only
 * needed by who wants it. `warning`: works, but look at it.
 */
type Verdict = "ok" | "damaged" | "missing" | "absent" | "warning";

/** One thing that `doctor` looked at. */
export interface Check {
  name: string;
  verdict: Verdict;
  detail: string;
  /** What to do about it, or null when nothing is to be done. */
  remedy: string | null;
}

export const ok = (name: string, detail: string): Check => ({ name, verdict: "ok", detail, remedy: null });

export const warning = (name: string, detail: string, remedy: string | null): Check => ({
  name,
  verdict: "warning",
  detail,
  remedy,
});

export const damaged = (name: string, detail: string, remedy: string | null): Check => ({
  name,
  verdict: "damaged",
  detail,
  remedy,
});

export const marks: Record<Verdict, string> = {
  ok: "ok",
  damaged: "DAMAGED",
  missing: "MISSING",
  absent: "-",
  warning: "look",
};

const versionTimeoutMs = 5000;

/**
 * Agent CLIs are a choice: one that is not installed is no fault of the machine. `proved`: the versions whose
 * screens were recorded; another one mostly reads the same, and nobody has looked.
 */
export async function checkTool(
  context: CliContext,
  tool: LaunchTool,
  proved: readonly string[],
): Promise<Check> {
  if (tool.tool === "demo") return ok("demo", "built in");
  const [program] = tool.command;
  const path = context.processes.which(program);
  if (path === null) {
    const detail = `${program} is not on PATH`;
    return { name: tool.tool, verdict: "absent", detail, remedy: tool.installHint };
  }
  const { processes, env } = context;
  const found = await readToolVersion(processes, { path, env, timeoutMs: versionTimeoutMs });
  if ("problem" in found) {
    const remedy = `run ${program} --version yourself, then: ${tool.installHint}`;
    return warning(tool.tool, `${path} does not start: ${found.problem}`, remedy);
  }
  const { version } = found;
  const detail = `${path} ${version ?? ""}`.trim();
  if (version === null || proved.length === 0 || proved.includes(version)) return ok(tool.tool, detail);
  return warning(
    tool.tool,
    `${detail}; its screens were recorded with ${proved.join(", ")}`,
    `if a state of it reads wrong: svc-mgr agents single --agent-name NAME gateway tui explain`,
  );
}

/** The version of the installed tool, or null when it does not say it in time. Never rejects. */
export async function installedVersion(context: CliContext, tool: LaunchTool): Promise<string | null> {
  if (tool.tool === "demo") return null;
  const path = context.processes.which(tool.command[0]);
  const { processes, env } = context;
  const timeoutMs = launchVersionTimeoutMs;
  const found = path === null ? null : await readToolVersion(processes, { path, env, timeoutMs });
  return found && "version" in found ? found.version : null;
}
