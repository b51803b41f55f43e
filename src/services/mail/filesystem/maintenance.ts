import { isAbsolute, join, relative, sep } from "node:path";
import type { MailboxMaintenanceAnswer, MaintenanceAction } from "../../../protocol/mailbox-admin.ts";
import { afterThisTurn } from "../../../system/clock.ts";
import type { Files } from "../../../system/files.ts";

/** What a maintenance run would do, each artifact in one list. Source: spec/mailbox-agui.md A8. */
export interface MaintenancePlan {
  planned: MaintenanceAction[];
  /** Removals that must not be. */
  blocked: MaintenanceAction[];
  preserved: MaintenanceAction[];
}

export type MaintenanceResult = Omit<
  MailboxMaintenanceAnswer,
  "schema_version" | "mailbox_root" | "mailbox_root_detail" | "resolution"
>;

/** How far a long run has come; `total` is null where nobody knows yet. */
export interface Progress {
  step: string;
  done: number;
  total: number | null;
}

/** Lets others work, tells how far it is, and throws when the run shall end. */
export async function breathe(
  options: { signal?: AbortSignal; onProgress?: (progress: Progress) => void },
  progress: Progress,
): Promise<void> {
  options.onProgress?.(progress);
  await new Promise<void>((resolve) => afterThisTurn(resolve));
  options.signal?.throwIfAborted();
}

export function emptyPlan(): MaintenancePlan {
  return { planned: [], blocked: [], preserved: [] };
}

/**
 * `applied`: null for a dry run; else what was removed and what failed on the way. A planned action that is in
 * neither was done in part by another process, which is fine.
 */
export function toMaintenanceResult(
  scope: MaintenanceResult["scope"],
  plan: MaintenancePlan,
  outcome: { applied: MaintenanceAction[]; failed: MaintenanceAction[] } | null,
): MaintenanceResult {
  const applied = outcome?.applied ?? [];
  const blocked = [...plan.blocked, ...(outcome?.failed ?? [])];
  return {
    dry_run: outcome === null,
    scope,
    planned_actions: plan.planned,
    applied_actions: applied,
    blocked_actions: blocked,
    preserved_actions: plan.preserved,
    summary: {
      planned_count: plan.planned.length,
      applied_count: applied.length,
      blocked_count: blocked.length,
      preserved_count: plan.preserved.length,
    },
  };
}

/** Whether `path` lies below `folder`, by its words alone. Both absolute. Pure. */
export function liesBelow(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== "" && way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/**
 * Why removing `path` could touch something outside of `folder`, or null: it is not below it, or a folder on the way
 * there is a symbolic link. A link at `path` itself is harmless, because only the link would go. Both absolute.
 */
export function whyOutside(files: Pick<Files, "isLink">, folder: string, path: string): string | null {
  if (!liesBelow(folder, path)) return "it lies outside of the mailbox root";
  const parts = relative(folder, path).split(sep);
  for (let depth = 1; depth < parts.length; depth++) {
    const onTheWay = join(folder, ...parts.slice(0, depth));
    if (files.isLink(onTheWay)) return `${onTheWay} is a symbolic link`;
  }
  return null;
}
