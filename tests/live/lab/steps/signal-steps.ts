import { expect } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import type { ToolReport } from "../../../../src/protocol/tool-report.ts";
import { signalPaths } from "../../../../src/services/extensions/bridges/signals/spool-source.ts";
import { sha256 } from "../../../../src/system/digest.ts";
import { until } from "../../../support/until.ts";
import type { LabTool } from "../cli-cache.ts";
import type { LabSession } from "../lab-session.ts";
import { arrives } from "./prompt-steps.ts";

/**
 * What a tool reports of a first turn without an action; null for a tool that is given nothing to report
 * with. Claude runs its hooks at once, so that they may report in another order. opencode opens its session
 * with the first prompt.
 */
export const reportedTurn: Readonly<Record<LabTool, readonly ToolReport["kind"][] | null>> = {
  claude: ["prompt_submitted", "turn_ended"],
  codex: ["turn_ended"],
  gemini: null,
  opencode: ["session_started", "prompt_submitted", "turn_ended"],
};

/**
 * What a tool reports of its question about the command of `RUNTOOL ESCALATE`; null where it reports none.
 */
export const reportedQuestion: Readonly<Record<LabTool, { message: string | null; action: string } | null>> =
  {
    claude: { message: "touch tool-out.txt", action: "Bash" },
    codex: null,
    gemini: null,
    opencode: { message: "touch tool-out.txt", action: "bash" },
  };

/**
 * Measured at 15 to 100 ms after the model's last byte; this allows for a busy machine and a hook that is not
 * compiled.
 */
const endWithinMs = 10_000;

/** Each report of a turn comes once, with the text of its prompt, and no file of the user names the hook. */
export async function reportsItself(session: LabSession): Promise<void> {
  const wanted = reportedTurn[session.tool];
  const { root, spool } = signalPaths(session.gateway.ready.session_root);
  if (wanted === null) {
    expect(existsSync(root) && existsSync(spool)).toBe(false);
    return;
  }
  await session.isReady();
  const before = readReports(spool).length;
  const prompt = "Report this FAST";
  const seen = session.model.received().length;
  await arrives(session, prompt);
  const since = () => readReports(spool).slice(before);
  await until("the turn to be reported", () =>
    wanted.every((kind) => since().some((one) => one.kind === kind)),
  );
  const reports = since().sort((one, other) => wanted.indexOf(one.kind) - wanted.indexOf(other.kind));
  expect(reports.map(({ kind }) => kind)).toEqual([...wanted]);
  const ofTurn = reports.filter(({ kind }) => kind !== "session_started");
  expect(ofTurn[0]).toMatchObject({ tool: session.tool, prompt, prompt_sha256: sha256(prompt) });
  const end = ofTurn.at(-1);
  expect(new Set(reports.map(({ session_id }) => session_id)).size).toBe(1);
  expect(new Set(ofTurn.map(({ turn_id }) => turn_id)).size).toBe(1);
  const [turn] = session.turnsSince(seen);
  const lateMs = (end?.at_ms ?? 0) - (turn?.ended_at_ms ?? 0);
  expect(lateMs).toBeGreaterThanOrEqual(0);
  expect(lateMs).toBeLessThan(endWithinMs);
  expect(filesThatName(session, root)).toEqual([]);
}

function readReports(spool: string): ToolReport[] {
  if (!existsSync(spool)) return [];
  const lines = readFileSync(spool, "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as ToolReport);
}

/**
 * Files of the home and the working folder that name `path`, but for our own state and the tool's accounts of
 * its talks.
 */
function filesThatName({ box }: LabSession, path: string): string[] {
  const grep = [
    "grep",
    "-rlF",
    "--exclude-dir=.local",
    "--exclude-dir=projects",
    "--exclude=*.jsonl",
    "--exclude=*.sqlite*",
  ];
  const { stdout } = Bun.spawnSync([...grep, path, box.home], { env: box.env });
  return String(stdout)
    .split("\n")
    .filter((line) => line !== "");
}
