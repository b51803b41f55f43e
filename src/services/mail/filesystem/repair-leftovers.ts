import { basename, relative } from "node:path";
import type { CatalogRebuild } from "../../../db/mailbox/rebuild.ts";
import { sleep } from "../../../system/clock.ts";
import { childPath, isOneName } from "../../../system/contained-path.ts";
import type { Target } from "./maintenance.ts";
import type { RepairRun } from "./repair-run.ts";

/** A delivery that is under way touches its files more often than this. */
const restMs = 2000;

/**
 * Waits until what interrupted writes seem to have left has lain still for a while: a delivery in another process
 * may just be making it.
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

/** Files of messages and attachments that no row speaks for go to the quarantine; they may still be wanted. */
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
      run.find(path, "it was never delivered", quarantine(run, path));
    }
    for (const path of orphans.attachments) {
      if (rebuild.knowsAttachment(basename(path)) || !files.exists(path)) continue;
      run.find(path, "it belongs to no message", quarantine(run, path));
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
