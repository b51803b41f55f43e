import { relative } from "node:path";
import type { MaintenanceAction } from "../../../protocol/mailbox-admin.ts";
import { settleArtifacts } from "./artifacts.ts";
import { planCleanup } from "./cleanup-plan.ts";
import { type MaintenanceResult, toMaintenanceResult, whyOutside } from "./maintenance.ts";
import { type MailRoot, type MailRootDeps, withExclusiveRoot } from "./root.ts";

export interface CleanupOptions {
  inactiveOlderThanSeconds: number;
  stashedOlderThanSeconds: number;
  dryRun: boolean;
}

/**
 * Removes former mailboxes. What goes is committed first and then done on disk; after a crash the next who opens the
 * root finishes it. Source: spec/mailbox-agui.md A8.
 */
export function cleanUpMailRoot(
  deps: MailRootDeps,
  { root, catalog, registrations }: MailRoot,
  options: CleanupOptions,
): Promise<MaintenanceResult> {
  const { files, clock } = deps;
  const { inactiveOlderThanSeconds, stashedOlderThanSeconds, dryRun } = options;
  const plan = () =>
    planCleanup({
      root,
      nowMs: clock.nowMs(),
      inactiveOlderThanSeconds,
      stashedOlderThanSeconds,
      registrations: registrations.list(),
      whyOutside: (path) => whyOutside(files, root, path),
    });
  const scope = {
    kind: "mailbox_cleanup" as const,
    inactive_older_than_seconds: inactiveOlderThanSeconds,
    stashed_older_than_seconds: stashedOlderThanSeconds,
  };
  return withExclusiveRoot(deps, root, () => {
    if (dryRun) return toMaintenanceResult(scope, plan(), null);
    const done = catalog.changeRegistrations("sql:mail-cleanup", () => {
      // Planned inside, so that nobody becomes active again between the look and the deed.
      const planned = plan();
      const artifacts = planned.planned
        .filter((one) => one.artifact_kind !== "registration")
        .map((one) => ({ action: "remove" as const, path: relative(root, one.path), destination: null }));
      const remove = planned.removed.map((one) => one.registration_id);
      return { change: { save: [], forget: [], remove, artifacts }, result: planned };
    });
    settleArtifacts(files, root, catalog);
    const stays = (one: MaintenanceAction) =>
      one.artifact_kind !== "registration" && (files.isLink(one.path) || files.exists(one.path));
    return toMaintenanceResult(scope, done, {
      applied: done.planned.filter((one) => !stays(one)),
      failed: done.planned.filter(stays).map((one) => ({ ...one, reason: "it could not be removed" })),
    });
  });
}
