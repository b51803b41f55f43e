import { join, relative } from "node:path";
import type { MaintenanceAction } from "../../../../protocol/mailbox-admin.ts";
import { parseTimestamp } from "../../../../system/clock.ts";
import { operator } from "../../address.ts";
import { settleArtifacts } from "../delivery/artifacts.ts";
import type { Registration } from "../registration/registrations.ts";
import { type MailRoot, type MailRootDeps, withExclusiveRoot } from "../root.ts";
import { whyOutside } from "../root-paths.ts";
import {
  emptyPlan,
  type MaintenancePlan,
  type MaintenanceResult,
  toMaintenanceResult,
} from "./maintenance.ts";

interface CleanupOptions {
  inactiveOlderThanSeconds: number;
  stashedOlderThanSeconds: number;
  dryRun: boolean;
}

/**
 * Removes former mailboxes. The removals are committed first and then applied on disk; after a crash the next
 * process that opens the root applies them. Source: spec/mailbox-agui.md A8.
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
      // Planned in the transaction: no registration becomes active again between the plan and the commit.
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

interface CleanupFacts {
  root: string;
  nowMs: number;
  inactiveOlderThanSeconds: number;
  stashedOlderThanSeconds: number;
  registrations: readonly Registration[];
  /** Why removing this path could touch something outside of the root, or null. */
  whyOutside: (path: string) => string | null;
}

/** The plan, and which registrations go with it. */
interface CleanupPlan extends MaintenancePlan {
  removed: Registration[];
}

/**
 * Former mailboxes that have been inactive or stashed for long enough go, with their folder; of one outside
 * of the root only the link goes. Active ones, the operator's and all canonical mail stay. A folder that
 * another registration still uses stays too. Pure. Source: spec/mailbox-agui.md A8.
 */
export function planCleanup(facts: CleanupFacts): CleanupPlan {
  const { registrations, root } = facts;
  const plan: CleanupPlan = { ...emptyPlan(), removed: [] };
  const old = registrations.filter((one) => whyKept(facts, one) === null);
  const staying = new Set(
    registrations.filter((one) => !old.includes(one)).map((one) => one.mailbox_entry_path),
  );
  const entries = new Set<string>();
  for (const registration of registrations) {
    const record = (proposed_action: MaintenanceAction["proposed_action"], reason: string) =>
      toAction(registration, "registration", join(root, "index.sqlite"), proposed_action, reason);
    const kept = whyKept(facts, registration);
    if (kept !== null) {
      plan.preserved.push(record("preserve", kept));
      continue;
    }
    const entry = entryAction(registration, staying);
    const outside = entry.proposed_action === "remove" ? facts.whyOutside(entry.path) : null;
    if (outside !== null) {
      plan.blocked.push({ ...entry, reason: outside }, record("remove", "its folder cannot be removed"));
      continue;
    }
    plan.removed.push(registration);
    plan.planned.push(record("remove", `${registration.status} for long enough`));
    if (entry.proposed_action === "preserve") plan.preserved.push(entry);
    else if (!entries.has(entry.path)) plan.planned.push(entry);
    entries.add(entry.path);
    if (registration.mailbox_kind === "symlink") {
      const { mailbox_path: path } = registration;
      plan.preserved.push(
        toAction(registration, "mailbox_directory", path, "preserve", "it lies outside of the mailbox root"),
      );
    }
  }
  plan.preserved.push({
    artifact_kind: "canonical_message",
    path: join(root, "messages"),
    proposed_action: "preserve",
    reason: "a cleanup never removes mail",
    details: {},
  });
  return plan;
}

function whyKept(facts: CleanupFacts, registration: Registration): string | null {
  if (registration.address === operator.address) return "the operator's mailbox always stays";
  if (registration.status === "active") return "it is active";
  const least =
    registration.status === "inactive" ? facts.inactiveOlderThanSeconds : facts.stashedOlderThanSeconds;
  const since = parseTimestamp(registration.deactivated_at_utc ?? registration.created_at_utc);
  const seconds = since === null ? 0 : (facts.nowMs - since) / 1000;
  return seconds >= least
    ? null
    : `${registration.status} for ${Math.floor(seconds)} s, not yet for ${least} s`;
}

function entryAction(registration: Registration, staying: ReadonlySet<string>): MaintenanceAction {
  const { mailbox_entry_path: path, mailbox_kind: kind } = registration;
  const artifact = kind === "symlink" ? "mailbox_entry" : "mailbox_directory";
  return staying.has(path)
    ? toAction(registration, artifact, path, "preserve", "another registration of the address uses it")
    : toAction(registration, artifact, path, "remove", `of a mailbox that is ${registration.status}`);
}

function toAction(
  registration: Registration,
  artifact_kind: MaintenanceAction["artifact_kind"],
  path: string,
  proposed_action: MaintenanceAction["proposed_action"],
  reason: string,
): MaintenanceAction {
  const { registration_id, address, status } = registration;
  return { artifact_kind, path, proposed_action, reason, details: { registration_id, address, status } };
}
