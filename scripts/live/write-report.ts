import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { recordingsBelow } from "../../src/cli/agent/shipped-recordings.ts";
import { profileFor } from "../../src/services/terminal/profiles/profile.ts";
import type { StoredRecording } from "../../src/services/terminal/recorded/recorded-screen.ts";
import { createSystem } from "../../src/system/system.ts";
import type { LabTool } from "../../tests/live/lab/cli-cache.ts";
import { repositoryRoot } from "../bootstrap.ts";
import { makeReport, renderReport, type StepAccount } from "./report.ts";

/** Where a run of the lab leaves what its report is made from. */
export interface ReportFolder {
  /** Variables for the run. */
  env: Record<string, string>;
  /**
   * Makes report.md and report.json from what the run left and its junit text; resolves with the report's
   * path.
   */
  write(junit: string): string;
}

/** Begins the report of one version anew: `.live/TOOL-VERSION`, which git ignores. */
export function openReport(tool: LabTool, version: string): ReportFolder {
  const root = join(repositoryRoot, ".live", `${tool}-${version}`);
  const accounts = join(root, "accounts.jsonl");
  const frames = join(root, "frames");
  const recordings = join(root, "recordings");
  rmSync(root, { recursive: true, force: true });
  mkdirSync(frames, { recursive: true });
  return {
    env: { SVC_LAB_ACCOUNTS: accounts, SVC_LAB_RECORDINGS: frames },
    write(junit) {
      const profile = profileFor(tool);
      if (!profile) throw new Error(`no profile describes ${tool}`);
      const { files } = createSystem();
      const made = keepFrames(frames, join(recordings, tool, version), { tool, version });
      const report = makeReport({
        tool,
        version,
        profile,
        junit,
        made,
        recordings: "recordings",
        accounts: existsSync(accounts) ? readAccounts(readFileSync(accounts, "utf8")) : [],
        known: recordingsBelow(files, join(repositoryRoot, "tests/screens")),
      });
      rmSync(frames, { recursive: true, force: true });
      rmSync(accounts, { force: true });
      writeFileSync(join(root, "report.json"), `${JSON.stringify(report, null, 2)}\n`);
      const path = join(root, "report.md");
      writeFileSync(path, renderReport(report));
      return path;
    },
  };
}

/** Moves the frames `NN-STATE` to where `tools check --recordings` finds them; the last of a state counts. */
function keepFrames(
  frames: string,
  target: string,
  { tool, version }: { tool: string; version: string },
): StoredRecording[] {
  const byState = new Map<string, string>();
  for (const run of readdirSync(frames)) {
    for (const name of readdirSync(join(frames, run)).sort()) {
      byState.set(name.replace(/^\d+-/, ""), join(frames, run, name));
    }
  }
  mkdirSync(target, { recursive: true });
  return [...byState].map(([state, folder]) => {
    renameSync(folder, join(target, state));
    const text = (file: string) => readFileSync(join(target, state, file), "utf8");
    return { tool, version, state, screen: text("screen.ansi.txt"), meta: text("meta.json") };
  });
}

/** A line of `SVC_LAB_ACCOUNTS` has an account of several parts, of which the first is the screen. */
function readAccounts(text: string): StepAccount[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const { account, ...step } = JSON.parse(line) as Omit<StepAccount, "screen"> & { account: string };
      const shown = /^screen:\n([\s\S]*?)\n\n(?:state|newest requests): ?\n/.exec(account)?.[1] ?? null;
      return { ...step, screen: shown };
    });
}
