import { basename, relative } from "node:path";
import type { CatalogRebuild } from "../../../../db/mailbox/rebuild.ts";
import type { RepairFinding } from "../../../../protocol/mailbox-admin.ts";
import { type Remedy, toRemedyRecord } from "../../../../protocol/remedy.ts";
import { sleep } from "../../../../system/clock.ts";
import { childPath, isOneName } from "../../../../system/contained-path.ts";
import type { MailRootDeps } from "../root.ts";
import { rootPaths } from "../root-paths.ts";
import {
  applyFileStep,
  breathe,
  type FileStep,
  type Progress,
  type RunOptions,
  type Target,
} from "../upkeep/maintenance.ts";

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
  find(path: string, problem: string, more?: { movedTo?: string; remedy?: Remedy | null }): void;
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
    find(path, problem, { movedTo, remedy } = {}) {
      // The repair itself runs now.
      const isRepair = remedy?.code === "repair_mailboxes";
      findings.push({
        path: relative(root, path),
        problem,
        moved_to: movedTo === undefined ? null : relative(root, movedTo),
        ...(remedy && !isRepair ? { remedy: toRemedyRecord(remedy) } : {}),
      });
    },
    apply: (steps) => steps.map((step) => applyFileStep(deps.files, step)).at(-1)?.result === "done",
    breathe: (progress) => breathe(options, progress),
  };
}

/** A delivery that is under way touches its files more often than this. */
const restMs = 2000;

/**
 * Waits until what interrupted writes seem to have left has lain still for a while: a delivery in another
 * process may just be making it.
 */
export async function waitUntilStill(run: RepairRun, paths: readonly string[]): Promise<void> {
  const { files, clock } = run.deps;
  for (;;) {
    const now = clock.nowMs();
    const age = Math.min(...paths.flatMap((path) => now - (files.stat(path)?.modifiedMs ?? 0)));
    // A time that lies ahead is no reason to wait for long.
    if (!(age >= 0 && age < restMs)) return;
    await sleep(clock, restMs - age, run.options.signal);
    run.options.signal?.throwIfAborted();
  }
}

/** What lies in staging, except the quarantine and what this run makes there. */
export function listStaging({ deps, paths, stamp }: RepairRun): string[] {
  return deps.files
    .list(paths.staging)
    .map((name) => `${paths.staging}/${name}`)
    .filter((path) => path !== paths.quarantine && !basename(path).startsWith(`index-${stamp}`));
}

/** Puts away what lay in staging and lies there still. Returns what it put away. */
export function clearStaging(run: RepairRun, found: readonly string[]): string[] {
  const { files } = run.deps;
  const left = found.filter(
    (path) => isOneName(basename(path)) && (files.isLink(path) || files.exists(path)),
  );
  for (const path of left) {
    if (run.options.quarantineStaging) quarantine(run, path);
    else run.apply([{ kind: "remove", label: "mail.staging-removed", at: below(run, path) }]);
  }
  return left;
}

/**
 * Moves files of messages and attachments that no row names to the quarantine; someone may still want them.
 */
export function quarantineOrphans(
  run: RepairRun,
  rebuild: CatalogRebuild,
  orphans: { messages: readonly { id: string; path: string }[]; attachments: readonly string[] },
): void {
  if (orphans.messages.length + orphans.attachments.length === 0) return;
  const { files } = run.deps;
  rebuild.whileQuiet(() => {
    for (const { id, path } of orphans.messages) {
      if (rebuild.knows(id) || !files.exists(path)) continue;
      run.find(path, "it was never delivered", { movedTo: quarantine(run, path) });
    }
    for (const path of orphans.attachments) {
      if (rebuild.knowsAttachment(basename(path)) || !files.exists(path)) continue;
      run.find(path, "it belongs to no message", { movedTo: quarantine(run, path) });
    }
  });
}

/** Folders of attachments that no message names. */
export function listOrphanAttachments({ deps, paths }: RepairRun, rebuild: CatalogRebuild): string[] {
  return deps.files
    .list(paths.attachments)
    .filter((name) => !rebuild.knowsAttachment(name))
    .map((name) => `${paths.attachments}/${name}`);
}

/** Returns where the file is now. */
function quarantine(run: RepairRun, path: string): string {
  const base = run.paths.root;
  const folder = ["staging", "quarantine", run.stamp];
  const names = [...folder, basename(path)];
  run.apply([
    { kind: "make_folder", label: "mail.quarantine", at: { base, names: folder, expected: "folder" } },
    { kind: "rename", label: "mail.quarantined", from: below(run, path), to: { base, names } },
  ]);
  return childPath(base, ...names);
}

function below({ paths }: RepairRun, path: string): Target {
  return { base: paths.root, names: relative(paths.root, path) };
}
