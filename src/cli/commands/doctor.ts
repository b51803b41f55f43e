import { dirname } from "node:path";
import type { LaunchTool } from "../../services/sessions/launch-tools.ts";
import { judgeRecord } from "../../services/sessions/record.ts";
import { messageOf } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import { command } from "../command.ts";
import { renderTable } from "../format.ts";
import { tmuxAdvice } from "../tmux-advice.ts";
import { openWorld, type World } from "../world.ts";

/** `missing`: needed and not there. `absent`: only needed by who wants it. `warning`: works, but look at it. */
type Verdict = "ok" | "missing" | "absent" | "warning";

interface Check {
  name: string;
  verdict: Verdict;
  detail: string;
  /** What to do about it, or null when nothing is to be done. */
  remedy: string | null;
}

const versionTimeoutMs = 5000;

export default command({
  name: "doctor",
  description: "say what this machine lacks and how to get it",
  examples: ["svc-mgr doctor", "svc-mgr doctor --fix"],
  args: { fix: { type: "boolean", description: "clean up records of agents that are gone" } },
  async run({ args, inherited, io }) {
    const world = openWorld(io, inherited);
    const checks = [
      await checkTmux(world),
      { name: "bun", verdict: "ok", detail: Bun.version, remedy: null } as const,
      ...checkFolders(world),
      await checkRecords(world, args.fix),
      ...(await Promise.all(world.tools.map((tool) => checkTool(world, tool)))),
    ];
    const healthy = checks.every((check) => check.verdict !== "missing");
    return { json: { healthy, checks }, text: toText(checks, healthy), exitCode: healthy ? 0 : 1 };
  },
});

async function checkTmux({ tmux, processes }: World): Promise<Check> {
  const version = await tmux.version();
  return { name: "tmux", ...tmuxAdvice(version, (command) => processes.which(command) !== null) };
}

function checkFolders({ roots, files }: World): Check[] {
  const folders = [
    ["sessions", roots.runtimeRoot, "SVC_GLOBAL_RUNTIME_DIR"],
    ["registry", roots.registryRoot, "SVC_GLOBAL_REGISTRY_DIR"],
    ...(roots.mailboxRoot === null
      ? []
      : [["mailbox", roots.mailboxRoot, "SVC_GLOBAL_MAILBOX_DIR"] as const]),
  ] as const;
  return folders.map(([name, path, variable]) => {
    const existing = nearestFolder(files, path);
    const writable = files.writable(existing);
    return {
      name: `folder of the ${name}`,
      verdict: writable ? "ok" : "missing",
      detail: existing === path ? path : `${path} (will be made)`,
      remedy: writable ? null : `make ${existing} writable for you, or name another folder with ${variable}`,
    };
  });
}

/** The folder itself, or the nearest one above it that exists. */
function nearestFolder(files: Files, path: string): string {
  let folder = path;
  while (!files.stat(folder)?.directory && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}

async function checkRecords(world: World, fix: boolean): Promise<Check> {
  try {
    return await judgeRecords(world, fix);
  } catch (error) {
    // Without tmux nobody can say which agents live: nothing is called stale then, and nothing is cleaned up.
    const detail = `cannot tell which agents live: ${messageOf(error)}`;
    return { name: "registry", verdict: "warning", detail, remedy: null };
  }
}

async function judgeRecords(world: World, fix: boolean): Promise<Check> {
  const { registry, clock, sessionAlive } = world;
  if (fix) {
    const cleaned = await registry.cleanUp();
    return { name: "registry", verdict: "ok", detail: `cleaned up: ${cleaned.length}`, remedy: null };
  }
  const { records, ignored } = registry.list();
  const stale: string[] = [];
  for (const record of records) {
    const facts = { sessionAlive: await sessionAlive(record), nowMs: clock.nowMs() };
    const verdict = judgeRecord(record, facts);
    if (!verdict.keep) stale.push(`${record.agent_name}: ${verdict.why}`);
  }
  const problems = [...stale, ...ignored.map((one) => `${one.path} ${one.problem}`)];
  return problems.length === 0
    ? { name: "registry", verdict: "ok", detail: `${records.length} agents recorded`, remedy: null }
    : { name: "registry", verdict: "warning", detail: problems.join("; "), remedy: "svc-mgr doctor --fix" };
}

/** Agent CLIs are a choice: one that is not installed is no fault of the machine. */
async function checkTool({ processes, env }: World, tool: LaunchTool): Promise<Check> {
  if (tool.tool === "demo") return { name: "demo", verdict: "ok", detail: "built in", remedy: null };
  const [program] = tool.command;
  const path = processes.which(program);
  if (path === null) {
    return {
      name: tool.tool,
      verdict: "absent",
      detail: `${program} is not on PATH`,
      remedy: tool.installHint,
    };
  }
  return { name: tool.tool, verdict: "ok", detail: `${path} ${await versionOf()}`.trim(), remedy: null };

  async function versionOf(): Promise<string> {
    try {
      const known = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
      const output = await processes.run([path ?? program, "--version"], {
        timeoutMs: versionTimeoutMs,
        env: Object.fromEntries(known),
      });
      return /\d+\.\d+[^\s,)]*/.exec(output.stdout)?.[0] ?? "";
    } catch (error) {
      return `(does not start: ${messageOf(error)})`;
    }
  }
}

const marks: Record<Verdict, string> = { ok: "ok", missing: "MISSING", absent: "-", warning: "look" };

function toText(checks: readonly Check[], healthy: boolean): string {
  const rows = checks.map((check) => [marks[check.verdict], check.name, check.detail]);
  const remedies = checks.flatMap((check) =>
    check.remedy === null ? [] : [`  ${check.name}: ${check.remedy}`],
  );
  return [
    renderTable(["", "CHECK", "FOUND"], rows),
    ...(remedies.length > 0 ? ["", "What to do:", ...remedies] : []),
    "",
    healthy ? "Nothing needed is missing." : "Something needed is missing.",
  ].join("\n");
}
