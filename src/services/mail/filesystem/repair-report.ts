import { relative } from "node:path";
import type { RepairFinding } from "../../../protocol/mailbox-admin.ts";
import { breathe, type Progress } from "./maintenance.ts";
import type { MailRootDeps } from "./root.ts";
import { rootPaths } from "./root-paths.ts";

export interface RepairOptions {
  /** Clear away what interrupted writes left. */
  cleanupStaging: boolean;
  /** Keep it in the quarantine instead of removing it. */
  quarantineStaging: boolean;
  /** Ends the repair between two steps; what was done holds. */
  signal?: AbortSignal;
  onProgress?: (progress: Progress) => void;
}

export const missingFile = "the file of this message is missing";

/** What all steps of one repair share. */
export interface RepairRun {
  deps: MailRootDeps;
  options: RepairOptions;
  paths: ReturnType<typeof rootPaths>;
  /** Distinguishes what this run puts aside: `20261121-044700Z-1a2b3c`. */
  stamp: string;
  findings: RepairFinding[];
  /** Paths are absolute. */
  find(path: string, problem: string, movedTo?: string): void;
  /** Lets others work, tells how far it is, and throws when the run shall end. */
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
    breathe: (progress) => breathe(options, progress),
  };
}
