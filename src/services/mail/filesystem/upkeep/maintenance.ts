import { dirname } from "node:path";
import type { MailboxMaintenanceAnswer, MaintenanceAction } from "../../../../protocol/mailbox-admin.ts";
import { afterThisTurn } from "../../../../system/clock.ts";
import { type ExpectedKind, PathRefused } from "../../../../system/contained-path.ts";
import { messageOf } from "../../../../system/errors.ts";
import type { Files } from "../../../../system/files.ts";
import { pathInRoot } from "../root-paths.ts";

/**
 * Plan, then apply: the engine of repair, cleanup, clear and export. A plan is data: typed steps in order,
 * made by a pure function from facts. `applyFileStep` is the only function that carries out a step on disk,
 * and it checks the path of each step again immediately before the step (spec/security.md, rule 1). Source:
 * spec/mailbox-agui.md A8.
 */

/** A path below a folder. */
export interface Target {
  base: string;
  names: string | readonly string[];
  expected?: ExpectedKind;
}

/** One change on disk. `label`: see `Steps`. */
export type FileStep =
  | { kind: "make_folder"; label: string; at: Target }
  | { kind: "write"; label: string; at: Target; text: string; durable: boolean }
  /** Makes the folder of `to` too. */
  | { kind: "copy"; label: string; folderLabel: string; from: Target; to: Target }
  /** Makes the folder of `at` too. */
  | { kind: "link"; label: string; folderLabel: string; at: Target; text: string }
  /** Skipped when nothing is at `from`. */
  | { kind: "rename"; label: string; from: Target; to: Target }
  /** A rename that is on disk when it returns. */
  | { kind: "place"; label: string; from: Target; to: Target }
  | { kind: "remove"; label: string; at: Target };

export type Outcome = { result: "done" } | { result: "skipped" } | { result: "failed"; why: string };

export interface PlannedStep<Step> {
  step: Step;
  /** Shown as progress. Steps of one phase follow each other. */
  phase: string;
  /** Position in the plan of a step that must be done first; this one is skipped otherwise. */
  needs?: number | undefined;
  /** Which failures become an outcome. All others end the run. */
  tolerates: "nothing" | "refusals" | "everything";
}

/** How far a long run has come. `total` is null when it is not known yet. */
export interface Progress {
  step: string;
  done: number;
  total: number | null;
}

export interface RunOptions {
  /** Ends the run between two steps. */
  signal?: AbortSignal;
  onProgress?: (progress: Progress) => void;
}

const stepsPerTurn = 200;

export const done: Outcome = { result: "done" };
export const skipped: Outcome = { result: "skipped" };

/**
 * Applies the steps in order; other work of this process runs in between. Returns one outcome for each step.
 * Rejects for a failure that its step does not tolerate, and when the run is aborted.
 */
export async function applyPlan<Step>(
  plan: readonly PlannedStep<Step>[],
  apply: (step: Step) => Outcome,
  options: RunOptions,
): Promise<Outcome[]> {
  const totals = new Map<string, number>();
  for (const { phase } of plan) totals.set(phase, (totals.get(phase) ?? 0) + 1);
  const outcomes: Outcome[] = [];
  const applied = new Map<string, number>();
  for (const planned of plan) {
    const { phase, needs } = planned;
    const count = applied.get(phase) ?? 0;
    if (count % stepsPerTurn === 0) {
      await breathe(options, { step: phase, done: count, total: totals.get(phase) ?? null });
    }
    applied.set(phase, count + 1);
    const isPossible = needs === undefined || outcomes[needs]?.result === "done";
    outcomes.push(isPossible ? attempt(planned, apply) : skipped);
  }
  return outcomes;
}

function attempt<Step>({ step, tolerates }: PlannedStep<Step>, apply: (step: Step) => Outcome): Outcome {
  try {
    return apply(step);
  } catch (error) {
    const refused = error instanceof Error && error.cause instanceof PathRefused ? error.cause.why : null;
    if (tolerates === "nothing" || (tolerates === "refusals" && refused === null)) throw error;
    return { result: "failed", why: refused ?? messageOf(error) };
  }
}

/**
 * Carries out one step. A file that cannot be copied is an outcome; everything else throws,
 * `transport_failed` for a path that leaves its base or goes through a link.
 */
export function applyFileStep(files: Files, step: FileStep): Outcome {
  const pathOf = ({ base, names, expected }: Target) => pathInRoot(files, base, names, expected);
  const { label } = step;
  switch (step.kind) {
    case "make_folder":
      files.ensureDirectory(label, pathOf(step.at));
      return done;
    case "write":
      files.write(label, pathOf(step.at), step.text, { durable: step.durable });
      return done;
    case "copy": {
      const from = pathOf(step.from);
      const to = pathOf(step.to);
      files.ensureDirectory(step.folderLabel, dirname(to));
      const limits = { within: "anywhere", durable: false } as const;
      const copied = files.copy(label, from, to, limits);
      return copied.ok ? done : { result: "failed", why: whyNotCopied[copied.why] };
    }
    case "link": {
      const at = pathOf(step.at);
      files.ensureDirectory(step.folderLabel, dirname(at));
      files.symlink(label, step.text, at);
      return done;
    }
    case "rename":
    case "place": {
      const from = pathOf(step.from);
      if (step.kind === "rename" && !files.isLink(from) && !files.exists(from)) return skipped;
      files[step.kind](label, from, pathOf(step.to));
      return done;
    }
    case "remove":
      files.remove(label, pathOf(step.at));
      return done;
  }
}

const whyNotCopied = {
  absent: "it is missing",
  unreadable: "it cannot be read",
  not_regular: "it is not a regular file",
  not_ours: "others may change it",
  too_large: "it is too large",
  of_kernel: "it is in a file system of the kernel",
  outside: "it is outside of the mailbox root",
};

/** Lets other work of this process run, reports progress, and throws when the run is aborted. */
export async function breathe({ onProgress, signal }: RunOptions, progress: Progress): Promise<void> {
  onProgress?.(progress);
  await new Promise<void>((resolve) => afterThisTurn(resolve));
  signal?.throwIfAborted();
}

/** The report of a maintenance run: each artifact is in one list. */
export interface MaintenancePlan {
  planned: MaintenanceAction[];
  /** Removals that are refused. */
  blocked: MaintenanceAction[];
  preserved: MaintenanceAction[];
}

export type MaintenanceResult = Omit<
  MailboxMaintenanceAnswer,
  "schema_version" | "mailbox_root" | "mailbox_root_detail" | "resolution"
>;

export function emptyPlan(): MaintenancePlan {
  return { planned: [], blocked: [], preserved: [] };
}

/**
 * `outcome`: null for a dry run; else what was removed and what failed. A planned action that is in neither
 * list was partly done by another process. Pure.
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
