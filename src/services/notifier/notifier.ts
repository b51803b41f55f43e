import type { NewAuditRow, NotifierMemory, NotifierStore } from "../../db/gateway/notifier-store.ts";
import type { WakesHeld } from "../../protocol/gateway.ts";
import type {
  NotifierAudit,
  NotifierConfig,
  NotifierStatus,
  NotifierUpdate,
} from "../../protocol/notifier.ts";
import type { Remedy } from "../../protocol/remedy.ts";
import { type Clock, timestampNow } from "../../system/clock.ts";
import { messageOf, ServiceError, stepError } from "../../system/errors.ts";
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
import { type CycleResult, runCycle } from "./cycle.ts";
import { type BeforeWake, explainWakes, type GateFacts, whyBusy } from "./decide.ts";
import { initialState, type NotifierEvent, type NotifierState, next, planPoll } from "./state.ts";

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
  agent: Pick<Agent, "tool" | "terminal" | "readiness">;
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
  /** `busyWith` or `wakesHeld` changed. */
  onChange: () => void;
}

const noMemory: NotifierMemory = {
  lastPollAtUtc: null,
  lastNotificationAtUtc: null,
  lastError: null,
  notified: {},
};

export function createNotifier(deps: NotifierDeps): Notifier {
  const { store, agent, board, mail, context, clock, log } = deps;
  let state = initialState;
  let endArrivals = () => {};

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
    const problem = supportProblem(config);
    const { budget } = board.status();
    const obstacles = explainWakes({
      config,
      problem: problem?.detail ?? null,
      gate: gate(),
      budget: budget?.level === "hold" ? budget.detail : null,
      lastPoll: state.lastPoll,
      wakesHeld: state.wakesHeld,
    });
    return toNotifierStatus({ config, memory, problem, obstacles });
  }

  function gate(): GateFacts {
    const { request_admission, active_execution, queue_depth, typing_lease } = board.status();
    return {
      admission: request_admission,
      execution: active_execution,
      typist: typing_lease?.holder ?? null,
      queueDepth: queue_depth,
      readiness: agent.readiness("turn_boundary"),
    };
  }

  function apply(event: NotifierEvent): void {
    const before = state;
    state = next(state, event);
    const isSame = contextActionOf(state) === contextActionOf(before) && state.wakesHeld === before.wakesHeld;
    if (!isSame) deps.onChange();
  }

  async function tend(action: BeforeWake, signal: AbortSignal): Promise<string | null> {
    apply({ kind: "context_action", action });
    try {
      return await context.tend(action, signal);
    } finally {
      apply({ kind: "context_action", action: null });
    }
  }

  /** A repeated outcome is logged once. */
  function logOutcome(row: NewAuditRow, previous: NotifierState["lastPoll"]): void {
    const { outcome, detail, trigger, unread_count, enqueued_request_id, prompt_chars } = row;
    const repeats = outcome === previous?.outcome && detail === previous.detail;
    if (outcome !== "enqueued" && repeats) return;
    log.line("mail notifier", {
      outcome,
      trigger,
      ...(unread_count === null ? {} : { eligible: unread_count }),
      ...(detail === null ? {} : { detail }),
      ...(enqueued_request_id === null ? {} : { request_id: enqueued_request_id, chars: prompt_chars }),
    });
  }

  /** Due, act, record: `next` says what follows from each. */
  async function turn(signal: AbortSignal): Promise<number | null> {
    const { config, memory } = read();
    const baseUrl = deps.baseUrl();
    if (!config.enabled || baseUrl === null) {
      apply({ kind: "switched_off" });
      return null;
    }
    apply({ kind: "switched_on" });
    const plan = planPoll(state, { nowMs: clock.monotonicMs(), isFree: () => whyBusy(gate()) === null });
    if ("waitMs" in plan) return plan.waitMs;
    apply({ kind: "poll_began", trigger: plan.poll });
    let result: CycleResult | null = null;
    try {
      result = await runCycle(
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
        { trigger: plan.poll, config, memory },
      );
      store.recordPoll(result.row, result.memory);
    } catch (error) {
      apply({ kind: "poll_failed", nowMs: clock.monotonicMs(), acted: result !== null && hasActed(result) });
      throw stepError(result === null ? "poll of the mailbox" : "record of the poll", error);
    }
    const previous = state.lastPoll;
    const { row, hold, limit } = result;
    const { outcome, detail } = row;
    const times = { nowMs: clock.monotonicMs(), nowUtc: timestampNow(clock) };
    apply({ kind: "poll_ended", ...times, outcome, detail, hold, limit });
    logOutcome(row, previous);
    return 0;
  }

  const loop = createLoop({
    clock,
    turn,
    onError: (error) => log.line("mail notifier fault", { error: messageOf(error) }),
  });

  function triggerWake(): void {
    apply({ kind: "mail_arrived" });
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
      log.line(`mail notifier ${config.enabled ? "enabled" : "disabled"}`, {
        interval_seconds: config.interval_seconds ?? 0,
      });
      const { enabled } = config;
      const nowMs = clock.monotonicMs();
      apply({ kind: "settings_changed", nowMs, intervalMs: intervalMsOf(config), enabled, wasEnabled });
      if (enabled) loop.wake();
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
    busyWith() {
      const action = contextActionOf(state);
      return action && actionClauses[action];
    },
    wakesHeld: () => state.wakesHeld,
    wake() {
      if (state.phase.is !== "off") loop.wake();
    },
    start() {
      apply({ kind: "started", nowMs: clock.monotonicMs(), intervalMs: intervalMsOf(read().config) });
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

const actionClauses: Readonly<Record<BeforeWake, string>> = {
  compact: "the notifier compacts the chat",
  new_chat: "the notifier begins a new chat",
};

const contextActionOf = ({ phase }: NotifierState) => (phase.is === "polling" ? phase.contextAction : null);

const intervalMsOf = ({ interval_seconds }: NotifierConfig) => (interval_seconds ?? 0) * 1000;

/** Whether a poll did something that must not be repeated each second. */
const hasActed = ({ row }: CycleResult) => row.outcome === "enqueued" || row.context_action_outcome !== null;
