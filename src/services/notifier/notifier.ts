import type { NotifierMemory, NotifierStore } from "../../db/gateway/notifier-store.ts";
import type { WakesHeld } from "../../protocol/gateway.ts";
import type {
  NotifierAudit,
  NotifierAuditRow,
  NotifierConfig,
  NotifierStatus,
  NotifierTrigger,
  NotifierUpdate,
} from "../../protocol/notifier.ts";
import type { Remedy } from "../../protocol/remedy.ts";
import { type Clock, timestampNow } from "../../system/clock.ts";
import { messageOf, ServiceError } from "../../system/errors.ts";
import { createLoop, type Lifecycle } from "../../system/lifecycle.ts";
import type { Agent } from "../agent/agent.ts";
import type { Log } from "../diagnostics/gateway-log.ts";
import type { MailSupport } from "../mail/binding.ts";
import type { Mailbox } from "../mail/mailbox.ts";
import type { Queue } from "../queue/queue.ts";
import type { StatusBoard } from "../status/status-board.ts";
import {
  type ContextMaintenance,
  defaultNotifierConfig,
  mergeConfig,
  type SupportProblem,
  toNotifierStatus,
} from "./config.ts";
import { runCycle } from "./cycle.ts";
import { type BeforeWake, type GateFacts, whyBusy } from "./decide.ts";

/**
 * Wakes the one agent of this gateway when there is mail for it and it can take a prompt. Polls every
 * `interval_seconds`, and at once when mail arrives, when it is enabled and when the gateway starts; such an
 * extra poll that found the agent busy is repeated as soon as it is free, and one that a gap or quiet hours
 * held back when these are over. Source: contract 1.1, 2.6, 4.1; ruling 13.
 */
export interface Notifier extends Lifecycle {
  status(): NotifierStatus;
  /** Throws ServiceError `invalid_request`; nothing is changed then. */
  update(update: NotifierUpdate): NotifierStatus;
  /** Idempotent. */
  disable(): NotifierStatus;
  /** Newest first. */
  audit(options: { limit: number; before?: number }): NotifierAudit;
  /**
   * What it does to the agent itself at this moment, as a clause for people, or null: nobody else may type
   * then.
   */
  busyWith(): string | null;
  /** Which limit keeps mail from waking the agent, as of the last poll; null when none does. */
  wakesHeld(): WakesHeld | null;
  /** The agent, the queue or the admission changed. */
  wake(): void;
}

interface NotifierDeps {
  store: NotifierStore;
  agent: Pick<Agent, "tool" | "terminalState" | "readiness">;
  queue: Pick<Queue, "acceptNotice">;
  board: Pick<StatusBoard, "status">;
  /** The bound mailbox; `current` throws when there is none to use. */
  mail: {
    current(): Mailbox;
    supported(): MailSupport;
    onArrival(listener: () => void): () => void;
  };
  context: ContextMaintenance;
  /** Where the agent reaches this gateway; null before it listens and where it serves no mail. */
  baseUrl: () => string | null;
  skillInstalled: () => boolean;
  clock: Clock;
  log: Log;
  /** `busyWith` changed. */
  onChange: () => void;
}

/**
 * `pending`: mail may have come that no poll has looked at. `deferred`: one looked and found the agent busy.
 * `held`: one looked and held the wake-up back until a known time.
 */
type WakeTrigger = "silent" | "pending" | "deferred" | "held";

/** A burst of mail for an agent that cannot be woken is looked at this often, lest it fill the audit. */
const backoffMs = 1000;

const noMemory: NotifierMemory = {
  lastPollAtUtc: null,
  lastNotificationAtUtc: null,
  lastError: null,
  notified: {},
};

export function createNotifier(deps: NotifierDeps): Notifier {
  const { store, agent, board, mail, context, clock, log } = deps;
  let wakeTrigger: WakeTrigger = "pending";
  /** When the next scheduled poll is due, on the monotonic clock. */
  let scheduledPollAtMs = 0;
  /** When a held wake-up may be given, on the monotonic clock. */
  let heldUntilMs = 0;
  /** Until then, on the monotonic clock, a trigger has no effect, except that a busy agent is free again. */
  let backoff: { untilMs: number; why: "busy" | "held" } | null = null;
  let busyWith: string | null = null;
  let wakesHeld: WakesHeld | null = null;
  /** The last turn found nothing to do for as long as the configuration is not changed. */
  let off = false;
  let endArrivals = () => {};
  /** The last poll's outcome as it was logged: a repeated one is logged once. */
  let lastLogged = "";

  const read = () => store.read() ?? { config: defaultNotifierConfig, memory: noMemory };

  /** Why the notifier cannot run, and what can be done; null when it can. */
  function supportProblem(config: NotifierConfig): SupportProblem | null {
    const problem = (detail: string, remedy: Remedy | null = null) => ({ detail, remedy });
    if (deps.baseUrl() === null) {
      return problem("this gateway listens on no loopback address, so it serves no mail");
    }
    const { supported, error, remedy } = mail.supported();
    if (!supported) return problem(error ?? "this session has no usable mailbox", remedy);
    if (config.require_attestation === "verified" && mail.current().transport !== "filesystem") {
      return problem(
        "require_attestation=verified needs a mailbox of the filesystem transport: a mail server proves no sender",
      );
    }
    const unsupported =
      config.pre_notification_context_action === "compact" ? context.compactUnsupported() : null;
    return unsupported === null ? null : problem(unsupported);
  }

  function status(): NotifierStatus {
    const { config, memory } = read();
    return toNotifierStatus({ config, memory, problem: supportProblem(config) });
  }

  function gate(): GateFacts {
    const { request_admission, active_execution, queue_depth, typing_lease } = board.status();
    return {
      admission: request_admission,
      // What is done to the conversation before a wake-up is typed, too.
      execution: typing_lease ? "running" : active_execution,
      queueDepth: queue_depth,
      readiness: agent.readiness("turn_boundary"),
    };
  }

  async function tend(action: BeforeWake, signal: AbortSignal): Promise<string | null> {
    busyWith = action === "compact" ? "the notifier compacts the chat" : "the notifier begins a new chat";
    deps.onChange();
    try {
      return await context.tend(action, signal);
    } finally {
      busyWith = null;
      deps.onChange();
    }
  }

  function scheduleNextPoll(config: NotifierConfig): void {
    scheduledPollAtMs = clock.monotonicMs() + (config.interval_seconds ?? 0) * 1000;
  }

  /** Which poll is due, if any. */
  function due(): NotifierTrigger | null {
    const nowMs = clock.monotonicMs();
    const free = () => whyBusy(gate()) === null;
    const backingOff = backoff !== null && nowMs < backoff.untilMs && (backoff.why === "held" || !free());
    if (wakeTrigger === "pending" && !backingOff) return "doorbell";
    if (wakeTrigger === "deferred" && free()) return "doorbell";
    if (wakeTrigger === "held" && nowMs >= heldUntilMs) return "doorbell";
    return nowMs >= scheduledPollAtMs ? "interval" : null;
  }

  /** When a poll is due that nothing but time makes due, on the monotonic clock. */
  function nextAtMs(): number {
    if (wakeTrigger === "held") return Math.min(heldUntilMs, scheduledPollAtMs);
    return wakeTrigger === "pending" && backoff !== null
      ? Math.min(backoff.untilMs, scheduledPollAtMs)
      : scheduledPollAtMs;
  }

  function backoffAfter({ row, heldForMs }: Awaited<ReturnType<typeof runCycle>>): typeof backoff {
    const nowMs = clock.monotonicMs();
    if (row.outcome === "busy_skip") return { untilMs: nowMs + backoffMs, why: "busy" };
    return heldForMs === null ? null : { untilMs: nowMs + Math.min(backoffMs, heldForMs), why: "held" };
  }

  /** What a poll leaves of the trigger; one that came in the meantime is for the next poll. */
  function settleTrigger(
    answersTrigger: boolean,
    { row, heldForMs }: Awaited<ReturnType<typeof runCycle>>,
  ): void {
    if (row.outcome === "enqueued" && wakeTrigger !== "pending") wakeTrigger = "silent";
    if (!answersTrigger || wakeTrigger !== "silent") return;
    if (row.outcome === "busy_skip") wakeTrigger = "deferred";
    if (heldForMs !== null) {
      wakeTrigger = "held";
      heldUntilMs = clock.monotonicMs() + heldForMs;
    }
  }

  function setWakesHeld(limit: Pick<WakesHeld, "reason" | "detail"> | null): void {
    if (limit?.reason === wakesHeld?.reason && limit?.detail === wakesHeld?.detail) return;
    const since_utc = limit?.reason === wakesHeld?.reason ? wakesHeld?.since_utc : undefined;
    wakesHeld = limit && { ...limit, since_utc: since_utc ?? timestampNow(clock) };
    deps.onChange();
  }

  function logOutcome(row: Omit<NotifierAuditRow, "audit_id">): void {
    const { outcome, detail, trigger, unread_count, enqueued_request_id, prompt_chars } = row;
    const repeats = `${outcome} ${detail ?? ""}`;
    if (outcome !== "enqueued" && repeats === lastLogged) return;
    lastLogged = repeats;
    log.line("mail notifier", {
      outcome,
      trigger,
      ...(unread_count === null ? {} : { eligible: unread_count }),
      ...(detail === null ? {} : { detail }),
      ...(enqueued_request_id === null ? {} : { request_id: enqueued_request_id, chars: prompt_chars }),
    });
  }

  async function turn(signal: AbortSignal): Promise<number | null> {
    const { config, memory } = read();
    const baseUrl = deps.baseUrl();
    off = !config.enabled || baseUrl === null;
    if (off) setWakesHeld(null);
    if (!config.enabled || baseUrl === null) return null;
    const trigger = due();
    if (trigger === null) return Math.max(1, nextAtMs() - clock.monotonicMs());
    // A later trigger is for the next poll.
    const answersTrigger = trigger === "doorbell" || wakeTrigger === "pending";
    if (answersTrigger) wakeTrigger = "silent";
    let acted = false;
    try {
      const result = await runCycle(
        {
          agent,
          queue: deps.queue,
          openMailbox: mail.current,
          gate,
          enabled: () => read().config.enabled,
          tend: (action) => tend(action, signal),
          baseUrl: () => baseUrl,
          skillInstalled: deps.skillInstalled,
          clock,
          newestWakes: store.newestWakes,
        },
        { trigger, config, memory },
      );
      acted = result.row.outcome === "enqueued" || result.row.context_action_outcome !== null;
      store.recordPoll(result.row, result.memory);
      logOutcome(result.row);
      setWakesHeld(result.limit);
      if (trigger === "interval") scheduleNextPoll(config);
      settleTrigger(answersTrigger, result);
      backoff = backoffAfter(result);
      return 0;
    } catch (error) {
      // A poll that is not on record has answered nothing, unless it did something that must not be done each
      // second.
      if (acted && clock.monotonicMs() >= scheduledPollAtMs) scheduleNextPoll(config);
      if (!acted && answersTrigger) wakeTrigger = "pending";
      backoff = { untilMs: clock.monotonicMs() + backoffMs, why: "held" };
      throw error;
    }
  }

  const loop = createLoop({
    clock,
    turn,
    onError: (error) => log.line("mail notifier fault", { error: messageOf(error) }),
  });

  function triggerWake(): void {
    wakeTrigger = "pending";
    loop.wake();
  }

  return {
    status,
    update(update) {
      const before = store.read()?.config ?? null;
      const config = mergeConfig(before, update);
      const problem = config.enabled ? supportProblem(config) : null;
      if (problem !== null) {
        const { detail, remedy } = problem;
        throw new ServiceError("invalid_request", detail, remedy === null ? {} : { data: { remedy } });
      }
      const wasEnabled = before?.enabled ?? false;
      store.saveConfig(config, timestampNow(clock));
      if (!wasEnabled || before?.interval_seconds !== config.interval_seconds) scheduleNextPoll(config);
      log.line(`mail notifier ${config.enabled ? "enabled" : "disabled"}`, {
        interval_seconds: config.interval_seconds ?? 0,
      });
      backoff = null;
      if (!config.enabled) return status();
      // Settings may let through what a limit held back.
      if (wasEnabled && wakeTrigger !== "held" && wakesHeld === null) loop.wake();
      else triggerWake();
      return status();
    },
    disable() {
      const stored = store.read()?.config ?? null;
      if (stored?.enabled !== false) {
        const config = { ...(stored ?? defaultNotifierConfig), enabled: false };
        store.saveConfig(config, timestampNow(clock));
        log.line("mail notifier disabled");
        loop.wake();
      }
      return status();
    },
    audit({ limit, before }) {
      const { rows, more } = store.audit({ limit, ...(before === undefined ? {} : { before }) });
      return { schema_version: 1, rows, next_before: more ? (rows.at(-1)?.audit_id ?? null) : null };
    },
    busyWith: () => busyWith,
    wakesHeld: () => wakesHeld,
    wake() {
      if (!off) loop.wake();
    },
    start() {
      scheduleNextPoll(read().config);
      endArrivals();
      endArrivals = mail.onArrival(triggerWake);
      loop.start();
    },
    async stop() {
      endArrivals();
      endArrivals = () => {};
      await loop.stop();
    },
  };
}
