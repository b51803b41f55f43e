import { basename } from "node:path";
import type { Manifest } from "../../protocol/files.ts";
import type { Files } from "../../system/files.ts";
import type { Processes } from "../../system/processes.ts";

/** What a launch gives its tool so that it reports: arguments before all others, variables, and files. */
interface Handover {
  args: string[];
  env: Record<string, string>;
  /** A folder in that of the session, for these files and the reports; null for a program without reports. */
  folder: string | null;
  /** By path, each in `folder`. */
  files: Record<string, string>;
}

/**
 * What the manifest keeps of it, in `launch_plan.metadata.signals`. `declined`: by --no-signals, also at each
 * relaunch.
 */
interface SignalsRecord {
  given: boolean;
  declined: boolean;
  /** Why nothing was given. */
  why: string | null;
}

export interface PlannedSignals {
  handover: Handover;
  record: SignalsRecord;
}

/** A program that is about to start in a terminal. */
export interface StartingTool {
  tool: string;
  executable: string;
  sessionRoot: string;
  /** The arguments that it gets from others. */
  args: readonly string[];
  /** The environment that it gets. */
  env: Readonly<Record<string, string | undefined>>;
  /** Nothing may be given. */
  declined: boolean;
}

/** How a tool is asked to report what it does, at each start. Never rejects. */
export type PlanSignals = (
  system: { files: Pick<Files, "read">; processes: Pick<Processes, "run"> },
  tool: StartingTool,
) => Promise<PlannedSignals>;

/** For a program that has nothing to read reports with. */
export const planNoSignals: PlanSignals = async (_, { declined }) => ({
  handover: { args: [], env: {}, folder: null, files: {} },
  record: { given: false, declined, why: "the program that started it asks no tool for reports" },
});

/**
 * Why the tool of a session gives no reports, or null when it was asked for them. Pure.
 */
export function signalsAbsence(manifest: Manifest): string | null {
  if (manifest.headless !== undefined) return "each turn of a headless agent reports by its own output";
  const record = recordOf(manifest);
  if (record === null) {
    return manifest.agent_launch_authority.session_origin === "joined_tmux"
      ? "it was joined: svc did not start it"
      : "an earlier version of svc started it";
  }
  if (record.given === true) return null;
  return typeof record.why === "string" ? record.why : "its launch gave it nothing to report with";
}

/** The manifest of an agent that was started as `record` says. Pure. */
export function withSignals(manifest: Manifest, record: SignalsRecord): Manifest {
  const { launch_plan: plan } = manifest;
  return { ...manifest, launch_plan: { ...plan, metadata: { ...plan.metadata, signals: record } } };
}

/** Whether this session was launched with `--no-signals`. Pure. */
export function signalsDeclined(manifest: Manifest): boolean {
  return recordOf(manifest)?.declined === true;
}

function recordOf({
  launch_plan: { metadata },
}: Manifest): Partial<Record<keyof SignalsRecord, unknown>> | null {
  const record = metadata["signals"];
  return typeof record === "object" ? record : null;
}

/** Whether an agent gives no reports because of a setting of its user, although its tool could. Pure. */
export function lacksSignals(manifest: Manifest): boolean {
  const record = recordOf(manifest);
  if (record === null || record.given === true || record.declined === true) return false;
  return ["claude", "codex", "opencode"].includes(manifest.tool);
}

/**
 * Writes the files of a plan at every start, so that a file planted in the session folder is never run. Keeps
 * the spool with its unread lines. Throws `PathRefused` where no folder is.
 */
export function writeHandover(files: Files, sessionRoot: string, handover: Handover): void {
  if (handover.folder === null) return;
  files.contained(sessionRoot, basename(handover.folder), "folder");
  files.ensureDirectory("file:signals-folder", handover.folder);
  for (const [path, content] of Object.entries(handover.files)) {
    files.write("file:signals-handover", path, content, { durable: false });
  }
}
