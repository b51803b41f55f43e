import type { NotifierMemory } from "../../db/gateway/notifier-store.ts";
import type {
  NotifierConfig,
  NotifierStatus,
  NotifierUpdate,
  QuietHours,
  WakeObstacle,
} from "../../protocol/notifier.ts";
import { type Remedy, toRemedyRecord } from "../../protocol/remedy.ts";
import { isTimeZone } from "../../system/cron.ts";
import { ServiceError } from "../../system/errors.ts";
import { type Agent, isTracked, submitAtOnce } from "../agent/agent.ts";
import type { BeforeWake } from "./decide.ts";

/** Used when none is stored (ruling 13). */
const defaultIntervalSeconds = 60;
/** Replaces each token wherever the settings are shown. */
export const maskedToken = "********";

export const defaultNotifierConfig: NotifierConfig = {
  enabled: false,
  interval_seconds: null,
  mode: "any_inbox",
  appendix_text: "",
  context_error_policy: "continue_current",
  pre_notification_context_action: "none",
  notify_block_render: "enabled",
  notify_block_auth_mode: "permissive-log",
  notify_block_auth_verifier: "none",
  notify_block_shared_tokens: [],
  notify_block_per_message_chars: 512,
  notify_block_total_chars: 2048,
  wake_policy: "every_poll",
  min_gap_seconds: 0,
  max_wakes_per_hour: 0,
  max_hops: 0,
  quiet_hours: null,
  require_attestation: "none",
};

/**
 * What a person's first `enable` sets in place of the defaults: an agent that forgets its mail is not woken
 * for ever.
 */
export const firstNotifierSettings = {
  wake_policy: "on_change",
  max_wakes_per_hour: 12,
  max_hops: 20,
} as const satisfies NotifierUpdate;

/**
 * The settings after a PUT: every omitted field as stored, `enabled` included. A field given as null counts as
 * omitted; quiet hours end with "none". `stored` is null before the first PUT or DELETE; then the PUT
 * enables unless it says otherwise. Throws ServiceError `invalid_request` when it carries a token as the
 * status masks it, or quiet hours that are none. Source: contract 4.1 notifier rule 1; ruling 13.
 */
export function mergeConfig(stored: NotifierConfig | null, update: NotifierUpdate): NotifierConfig {
  const { schema_version: _, ...given } = update;
  if (given.notify_block_shared_tokens?.includes(maskedToken)) {
    throw new ServiceError(
      "invalid_request",
      "notify_block_shared_tokens: a token is given as the status masks it; give the tokens themselves or omit the field",
    );
  }
  const { quiet_hours: quiet, ...others } = given;
  if (quiet && quiet !== "none") refuseUnusableHours(quiet);
  const fields = Object.entries(others).filter(([, value]) => value !== undefined && value !== null);
  const before = stored ?? { ...defaultNotifierConfig, enabled: true };
  const merged = { ...before, ...Object.fromEntries(fields) } as NotifierConfig;
  if (quiet) merged.quiet_hours = quiet === "none" ? null : quiet;
  return { ...merged, interval_seconds: merged.interval_seconds ?? defaultIntervalSeconds };
}

/** Throws `invalid_request` for an unknown time zone and for hours without an extent. */
export function refuseUnusableHours({ start, end, time_zone }: QuietHours): void {
  if (!isTimeZone(time_zone)) {
    throw new ServiceError("invalid_request", "quiet_hours.time_zone: not a time zone known here");
  }
  if (start === end) {
    throw new ServiceError(
      "invalid_request",
      `quiet_hours: start and end are both ${start}, which is no hour or all of them; give two times, or "none"`,
    );
  }
}

export interface SupportProblem {
  detail: string;
  remedy: Remedy | null;
}

export function toNotifierStatus(facts: {
  config: NotifierConfig;
  memory: NotifierMemory | null;
  /** Why the notifier cannot run; null when it can. */
  problem: SupportProblem | null;
  obstacles: WakeObstacle[];
}): NotifierStatus {
  const { config, memory, problem, obstacles } = facts;
  return {
    schema_version: 1,
    ...config,
    notify_block_shared_tokens: config.notify_block_shared_tokens.map(() => maskedToken),
    supported: problem === null,
    support_error: problem?.detail ?? null,
    ...(problem?.remedy ? { support_remedy: toRemedyRecord(problem.remedy) } : {}),
    last_poll_at_utc: memory?.lastPollAtUtc ?? null,
    last_notification_at_utc: memory?.lastNotificationAtUtc ?? null,
    last_error: memory?.lastError ?? null,
    wake_obstacles: obstacles,
  };
}

/** How the agent's context is tended before a wake-up. */
export type ContextMaintenance = ReturnType<typeof createContextMaintenance>;

/** A compaction is a turn of the model; a reset is not. */
const waitMs: Record<BeforeWake, number> = { compact: 120_000, new_chat: 15_000 };

/** Where compaction before a wake-up was proved; anything else is reported unsupported (contract 2.6). */
const compactTools: readonly string[] = ["codex"];

/** `commands`: of the tool's profile, null without one. */
export function createContextMaintenance(deps: {
  agent: Pick<Agent, "tool" | "terminal" | "reserve">;
  commands: { reset: string; compact: string | null } | null;
}) {
  const { agent, commands } = deps;
  const compactCommand = compactTools.includes(agent.tool) ? (commands?.compact ?? null) : null;

  return {
    /** Why `compact` cannot be done with this agent, or null. */
    compactUnsupported: (): string | null =>
      isTracked(agent) && compactCommand !== null
        ? null
        : `pre_notification_context_action=compact needs a terminal agent of ${compactTools.join(" or ")}`,
    /**
     * Gives the agent its tool's own command and waits until it can begin a turn again, or until `signal`
     * aborts. Null when it can, else why not. Never rejects.
     */
    async tend(action: BeforeWake, signal: AbortSignal): Promise<string | null> {
      const prompt = action === "compact" ? compactCommand : (commands?.reset ?? null);
      if (prompt === null) return `this tool has no known command for ${action}`;
      const submission = { prompt, policy: "turn_boundary", onEvidence: () => {} } as const;
      const outcome = await submitAtOnce(agent, submission);
      if (outcome.outcome === "refused") return `${outcome.refusal.code}: ${outcome.refusal.detail}`;
      if (outcome.outcome === "failed") return outcome.detail;
      const ready = await agent.terminal?.waitFor("ready", { timeoutMs: waitMs[action], signal });
      return ready?.satisfied ? null : `${prompt} was given, but the agent did not become ready after it`;
    },
  };
}
