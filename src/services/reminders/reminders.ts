import type { ReminderStore } from "../../db/gateway/reminder-store.ts";
import type { RemindersLost, RequestAdmission } from "../../protocol/gateway.ts";
import {
  listedFirings,
  maxReminderChars,
  maxReminders,
  type ReminderDefinition,
  type ReminderDeleted,
  type ReminderFiring,
  type ReminderList,
  type ReminderRecord,
} from "../../protocol/reminders.ts";
import { type Clock, timestampNow, toTimestamp } from "../../system/clock.ts";
import { messageOf, ServiceError, stepError } from "../../system/errors.ts";
import type { Ids } from "../../system/ids.ts";
import { createLoop, type Lifecycle } from "../../system/lifecycle.ts";
import type { Agent, Readiness } from "../agent/agent.ts";
import { backendFacts } from "../agent/backends.ts";
import type { EventLog } from "../diagnostics/event-log.ts";
import type { Log } from "../diagnostics/gateway-log.ts";
import { createDeferrals, decideReminder, planReminders, type ReminderFacts } from "./decide.ts";
import { dueAgain, readDefinitions, redefine } from "./definition.ts";
import { deliver } from "./deliver.ts";
import { createReminderHistory, preview } from "./history.ts";
import {
  charsOf,
  createReminderSet,
  effectiveOf,
  inRanking,
  type Reminder,
  toLoss,
  toRecord,
} from "./reminder.ts";

/**
 * The reminders of one live gateway, in its memory; durable ones are on disk too. `start` takes over the
 * durable ones of the former process and reports the others as lost, then works until `stop`, which lets a
 * delivery end and reports what is lost. Unknown ids throw ServiceError `not_found`, faulty definitions
 * `invalid_request` with `data.issues`. Source: contract 2.3, 3.3, 4.3.
 */
export interface Reminders extends Lifecycle {
  /**
   * All or none. The created ones, in their order. Throws `conflict` beyond `maxReminders` or
   * `maxReminderChars`, `unavailable` once the gateway stops.
   */
  create(definitions: readonly ReminderDefinition[]): ReminderList;
  /** In the order in which they become effective, with the newest deliveries. */
  list(): ReminderList;
  get(reminderId: string): ReminderRecord;
  /**
   * Replaces the whole definition; its due time counts from now. Throws `conflict` while it is being
   * delivered.
   */
  update(reminderId: string, definition: ReminderDefinition): ReminderRecord;
  /** A delivery under way goes on to its end. */
  remove(reminderId: string): ReminderDeleted;
  /** `attempt`: the agent is looked at and nothing is typed yet; `execution`: a delivery is under way. */
  phase(): "attempt" | "execution" | null;
  /** What ended with the former process; null when nothing did. */
  lost(): RemindersLost | null;
  /** Look again: the agent, the admission or the queue may have changed. */
  wake(): void;
}

interface RemindersDeps {
  agent: Agent;
  clock: Clock;
  ids: Ids;
  events: EventLog;
  log: Log;
  store: ReminderStore;
  admission: () => RequestAdmission;
  queue: () => { depth: number; running: boolean };
  /** A delivery began or ended, the slot is free again, or something is known to be lost. */
  onChange: () => void;
}

/** After a refusal that contradicts what we knew, look again this soon even if nothing is reported. */
const refusedAgainMs = 250;

/**
 * At most one reminder is delivered at a time; `delivery` says how far it is:
 *
 * ```
 *   null ──due, and the agent is fit──> attempt ──still its turn──> execution ──typed, or failed──> null
 *                                          └──refused, or no longer wanted──> null
 * ```
 *
 * A crash during an execution leaves it on disk: the next start reports its outcome as unknown. A reminder
 * that is changed or removed during its execution is delivered to its end.
 */
export function createReminders(deps: RemindersDeps): Reminders {
  const { agent, clock, ids, log, store } = deps;
  const history = createReminderHistory(deps);
  const deferrals = createDeferrals({ clock, onReason: history.deferred });
  const all = createReminderSet();
  let delivery: { phase: "attempt" | "execution"; reminderId: string } | null = null;
  let lost: RemindersLost | null = null;
  let lifecycle: "new" | "started" | "stopped" = "new";

  const now = () => timestampNow(clock);
  const executes = (reminderId: string) =>
    delivery?.phase === "execution" && delivery.reminderId === reminderId;

  /**
   * A change of a durable reminder fails with its write; of another only the report of its loss depends on
   * it.
   */
  function persist(durable: boolean, change: () => void): void {
    try {
      change();
    } catch (error) {
      if (durable) throw error;
      log.line("reminders not recorded", { error: messageOf(error) });
    }
  }

  function recordsOf(reminders: readonly Reminder[]): ReminderRecord[] {
    return reminders.map((reminder) =>
      toRecord(reminder, {
        nowMs: clock.nowMs(),
        effective: all.effective(),
        executing: executes(reminder.reminder_id),
        waiting: deferrals.waitingOf(reminder),
      }),
    );
  }

  function recordOf(reminderId: string): ReminderRecord {
    const [record] = recordsOf([find(reminderId)]);
    if (!record) throw new Error("one reminder has one record");
    return record;
  }

  function listOf(reminders: readonly Reminder[]): ReminderList {
    return {
      schema_version: 1,
      effective_reminder_id: all.effective()?.reminder_id ?? null,
      reminders: recordsOf(reminders),
    };
  }

  function find(reminderId: string): Reminder {
    const reminder = all.get(reminderId);
    if (!reminder) throw new ServiceError("not_found", "no reminder with this id lives in this gateway");
    return reminder;
  }

  function read(definitions: readonly ReminderDefinition[], at: (nth: number) => (string | number)[]) {
    const { exactKeys } = backendFacts(agent.backend);
    return readDefinitions(definitions, { nowMs: clock.nowMs(), exactKeys }, at);
  }

  function refuseLong(added: readonly Pick<Reminder, "title" | "prompt" | "send_keys">[], before = 0): void {
    const sum = added.reduce((total, one) => total + charsOf(one), all.chars() - before);
    if (sum <= maxReminderChars) return;
    throw new ServiceError(
      "conflict",
      `a gateway holds at most ${maxReminderChars} characters of reminders; remove some first`,
    );
  }

  function gate(readiness: Readiness): Omit<ReminderFacts, "effective" | "nowMs"> {
    const { depth, running } = deps.queue();
    return { admission: deps.admission(), running, queueDepth: depth, readiness };
  }

  /** The reminder as it is being delivered; null, with nothing changed, when it is no longer its turn. */
  function begin(reminder: Reminder, requestId: string): Reminder | null {
    const isNext =
      all.get(reminder.reminder_id) === reminder && (reminder.independent || all.effective() === reminder);
    // A fresh look has just proved that the agent is fit; what was known before it does not count.
    const decision = decideReminder({ ...gate({ ready: true }), nowMs: clock.nowMs(), effective: reminder });
    if (!isNext || decision.do !== "deliver") return null;
    const ids = { last_request_id: requestId, executing_request_id: requestId };
    const started = { ...reminder, last_started_at_utc: now(), ...ids };
    // On disk before the first byte: a later crash must not lead to a second delivery.
    if (started.durable) store.save([started], { durable: true });
    all.put(started);
    delivery = { phase: "execution", reminderId: reminder.reminder_id };
    history.started(started);
    deps.onChange();
    return started;
  }

  /** Ends a delivery. `isLeft`: its reminder was not deleted meanwhile. */
  function finish(
    started: Reminder,
    end: { outcome: ReminderFiring["outcome"]; detail: string | null },
    isLeft: boolean,
  ): void {
    const { reminder_id, title, executing_request_id, last_started_at_utc } = started;
    const nextDueMs = isLeft ? dueAgain(started, clock.nowMs()) : null;
    const left = nextDueMs === null ? null : { ...started, dueMs: nextDueMs, executing_request_id: null };
    if (left) all.put(left);
    else all.remove(reminder_id);
    const request_id = executing_request_id ?? reminder_id;
    const firing: ReminderFiring = {
      request_id,
      reminder_id,
      title: preview(title),
      due_at_utc: toTimestamp(started.dueMs),
      started_at_utc: last_started_at_utc ?? now(),
      finished_at_utc: now(),
      ...end,
    };
    history.ended({ reminder_id, request_id }, { errorDetail: end.detail, nextDueMs });
    // A start that still finds it under way reports it as unknown, and does not deliver it again.
    persist(false, () => store.end(started, left, firing));
    loop.wake();
  }

  /** Returns how long to rest afterwards, milliseconds. */
  async function attempt(reminder: Reminder): Promise<number> {
    const { reminder_id } = reminder;
    const requestId = `${reminder_id}-${ids.hex(3)}`;
    let started = reminder;
    delivery = { phase: "attempt", reminderId: reminder_id };
    try {
      const result = await deliver(agent, reminder, requestId, {
        begin() {
          const begun = begin(reminder, requestId);
          started = begun ?? reminder;
          return begun !== null;
        },
        onEvidence: (evidence) => history.evidence(started, evidence),
      });
      switch (result.outcome) {
        case "withdrawn":
          return 0;
        case "refused":
          if (all.get(reminder_id) === reminder) {
            const { code: reason, detail } = result.refusal;
            deferrals.note(reminder, { reason, detail });
          }
          return refusedAgainMs;
        case "delivered":
          finish(started, { outcome: "delivered", detail: null }, all.get(reminder_id) !== undefined);
          return 0;
        case "failed":
          finish(started, { outcome: "failed", detail: result.detail }, all.get(reminder_id) !== undefined);
          return 0;
      }
    } finally {
      delivery = null;
      deps.onChange();
    }
  }

  async function turn(): Promise<number | null> {
    const plan = planReminders({
      reminders: all.values(),
      effective: all.effective(),
      nowMs: clock.nowMs(),
      gate: () => gate(agent.readiness("turn_boundary")),
    });
    for (const { reminder, ...why } of plan.deferred) deferrals.note(reminder, why);
    const reminder = plan.deliver;
    if (reminder === null) return plan.waitMs;
    return attempt(reminder).catch((error) => {
      throw stepError(`delivery of ${reminder.reminder_id}`, error);
    });
  }

  function restore(reminder: Reminder): void {
    all.put(reminder);
    if (reminder.executing_request_id === null) {
      history.restored(reminder);
      return;
    }
    const detail = "the gateway ended during the delivery: whether the agent got it is unknown";
    finish(reminder, { outcome: "unknown", detail }, true);
  }

  /** What the former process left: durable reminders go on, of the others is said that they are lost. */
  function takeOver(): void {
    const left = store.left();
    left.damaged.forEach(history.damaged);
    if (left.lost.length > 0) {
      const facts = { nowMs: clock.nowMs(), effective: effectiveOf([...left.kept, ...left.lost]) };
      // A process that stopped in good order has reported them itself.
      if (left.lostAtUtc === null) history.lost(left.lost.map((one) => toLoss(one, facts)));
      lost = { count: left.lost.length, at_utc: left.lostAtUtc ?? now() };
      deps.onChange();
    }
    persist(false, () => store.forget(left));
    left.kept.forEach(restore);
  }

  const loop = createLoop({
    clock,
    turn,
    onError: (error) => log.line("reminder worker fault", { error: messageOf(error) }),
  });

  return {
    create(definitions) {
      if (lifecycle === "stopped") throw new ServiceError("unavailable", "the gateway is stopping");
      const defined = read(definitions, (nth) => ["reminders", nth]);
      if (all.size() + defined.length > maxReminders) {
        throw new ServiceError(
          "conflict",
          `a gateway holds at most ${maxReminders} reminders, and ${all.size()} are here; remove some first`,
        );
      }
      refuseLong(defined);
      const firstOrder = all.nextOrder();
      const reminders = defined.map((one, nth): Reminder => {
        const reminder_id = `greminder-${ids.hex(6)}`;
        const born = { reminder_id, created_at_utc: now(), last_started_at_utc: null };
        return {
          ...one,
          ...born,
          last_request_id: null,
          executing_request_id: null,
          order: firstOrder + nth,
        };
      });
      const durable = reminders.some((one) => one.durable);
      persist(durable, () => store.save(reminders, { durable }));
      for (const reminder of reminders) {
        all.put(reminder);
        history.registered(reminder);
      }
      loop.wake();
      return listOf(reminders);
    },
    list() {
      const firings = store.firings(listedFirings);
      return { ...listOf(inRanking(all.values())), ...(firings.length > 0 ? { firings } : {}) };
    },
    get: recordOf,
    update(reminderId, definition) {
      const before = find(reminderId);
      const [reminder = before] = read([definition], () => []).map((one) => redefine(before, one));
      if (executes(reminderId)) {
        throw new ServiceError("conflict", "the reminder is being delivered; update it afterwards");
      }
      refuseLong([reminder], charsOf(before));
      const durable = before.durable || reminder.durable;
      persist(durable, () => store.save([reminder], { durable }));
      all.put(reminder);
      history.updated(reminder);
      loop.wake();
      return recordOf(reminderId);
    },
    remove(reminderId) {
      const reminder = find(reminderId);
      const executing = executes(reminderId);
      persist(reminder.durable, () => store.remove(reminder));
      all.remove(reminderId);
      const detail = executing ? "the delivery under way goes on; nothing follows it" : "deleted";
      history.deleted(reminderId, { executing, detail });
      loop.wake();
      return {
        schema_version: 1,
        status: "ok",
        action: "delete_reminder",
        reminder_id: reminderId,
        deleted: true,
        detail,
      };
    },
    phase: () => delivery?.phase ?? null,
    lost: () => lost,
    wake() {
      if (all.size() > 0) loop.wake();
    },
    start() {
      if (lifecycle === "started") return;
      lifecycle = "started";
      persist(false, takeOver);
      loop.start();
    },
    async stop() {
      lifecycle = "stopped";
      await loop.stop();
      const facts = { nowMs: clock.nowMs(), effective: all.effective() };
      const ended = inRanking(all.values()).filter(({ durable }) => !durable);
      all.clear();
      if (ended.length === 0) return;
      persist(false, () => store.markLost(now()));
      history.lost(ended.map((one) => toLoss(one, facts)));
    },
  };
}
