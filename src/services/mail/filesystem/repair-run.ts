import { relative } from "node:path";
import type { RepairFinding } from "../../../protocol/mailbox-admin.ts";
import { applyFileStep, breathe, type FileStep, type Progress, type RunOptions } from "./maintenance.ts";
import type { MailRootDeps } from "./root.ts";
import { rootPaths } from "./root-paths.ts";

/** An aborted repair keeps what it has done. */
export interface RepairOptions extends RunOptions {
  /** Clear away what interrupted writes left. */
  cleanupStaging: boolean;
  /** Keep it in the quarantine instead of removing it. */
  quarantineStaging: boolean;
}

export const missingFile = "the file of this message is missing";

/** What all steps of one repair share. */
export interface RepairRun {
  deps: MailRootDeps;
  options: RepairOptions;
  paths: ReturnType<typeof rootPaths>;
  /** Names what this run puts aside: `20261121-044700Z-1a2b3c`. */
  stamp: string;
  findings: RepairFinding[];
  /** Paths are absolute. */
  find(path: string, problem: string, movedTo?: string): void;
  /** Carries out steps in order. Returns whether the last one changed something. */
  apply(steps: readonly FileStep[]): boolean;
  /** See `breathe`. */
  breathe(progress: Progress): Promise<void>;
}

export function startRun(deps: MailRootDeps, root: string, options: RepairOptions, stamp: string): RepairRun {
  const findings: RepairFinding[] = [];
  return {
    deps,
    options,
    paths: rootPaths(root),
    stamp,
    findings,
    find(path, problem, movedTo) {
      findings.push({
        path: relative(root, path),
        problem,
        moved_to: movedTo === undefined ? null : relative(root, movedTo),
      });
    },
    apply: (steps) => steps.map((step) => applyFileStep(deps.files, step)).at(-1)?.result === "done",
    breathe: (progress) => breathe(options, progress),
  };
}

/** The files of a SQLite database; the main file is moved last, so that it never lacks its log. */
const databaseEndings = ["-shm", "-wal", ""];

/** Puts a database aside. `keptAt`: where, by the names below `base` without the ending. Pure. */
export function planKeep(options: {
  base: string;
  name: string;
  keptAt: readonly string[];
  label: string;
}): FileStep[] {
  const { base, name, keptAt, label } = options;
  const folder = keptAt.slice(0, -1);
  const keptName = keptAt.at(-1) ?? "";
  return databaseEndings.map((ending) => ({
    kind: "rename",
    label,
    from: { base, names: [name + ending] },
    to: { base, names: [...folder, keptName + ending] },
  }));
}
