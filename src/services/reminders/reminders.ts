import type { Evidence, RemindersLost, RequestAdmission } from "../../protocol/gateway.ts";
import {
  maxReminderChars,
  maxReminders,
  type ReminderDefinition,
  type ReminderDeleted,
  type ReminderList,
  type ReminderRecord,
} from "../../protocol/reminders.ts";
import { type Clock, timestampNow } from "../../system/clock.ts";
import { messageOf, ServiceError } from "../../system/errors.ts";
import type { Ids } from "../../system/ids.ts";
import { createLoop, type Lifecycle } from "../../system/lifecycle.ts";
import type { Agent, Readiness, Refusal } from "../agent/agent.ts";
import { backendFacts } from "../agent/backends.ts";
import { withOneEnter } from "../agent/key-sequence.ts";
import type { EventLog } from "../diagnostics/event-log.ts";
import type { Log } from "../diagnostics/gateway-log.ts";
import { createDeferrals, decideReminder, type ReminderDecision } from "./decide.ts";
import { nextDue, readDefinitions } from "./definition.ts";
import { createReminderHistory } from "./history.ts";
import { type Ledger, toEntry } from "./ledger.ts";
import { charsOf, effectiveOf, inRanking, type Reminder, toRecord } from "./reminder.ts";

/**
 * The reminders of one live gateway, in its memory. `start` reports what the former process lost, then works
 * until `stop`, which lets a delivery end and reports what is lost. Unknown ids throw ServiceError `not_found`, faulty
 * definitions `invalid_request` with `data.issues`. Source: contract 2.3, 3.3, 4.3.
 */
export interface Reminders extends Lifecycle {
  /**
   * All or none. The created ones, in their order. Throws `conflict` beyond `maxReminders` or `maxReminderChars`, `unavailable` once the
   * gateway stops.
   */
  create(definitions: readonly ReminderDefinition[]): ReminderList;
  /** In the order in which they become effective. */
  list(): ReminderList;
  get(reminderId: string): ReminderRecord;
  /** Replaces the whole definition; its due time counts from now. Throws `conflict` while it is being delivered. */
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

export interface RemindersDeps {
  agent: Agent;
  clock: Clock;
  ids: Ids;
  events: EventLog;
  log: Log;
  ledger: Ledger;
  admission: () => RequestAdmission;
  queue: () => { depth: number; running: boolean };
  /** A delivery began or ended, the slot is free again, or something is known to be lost. */
  onChange: () => void;
}

/** After a refusal that contradicts what we knew, look again this soon even if nothing is reported. */
const refusedAgainMs = 250;
/** The wall clock may be set, and the machine may sleep, while a due time is waited for. */
const longestNapMs = 60_000;

export function createReminders(deps: RemindersDeps): Reminders {
  const { agent, clock, ids, log, ledger } = deps;
  const history = createReminderHistory(deps);
  const deferrals = createDeferrals({ clock, onReason: history.deferred });
  const all = new Map<string, Reminder>();
  let created = 0;
  /** `attempt`: the agent is looked at, nothing is typed yet. */
  let slot: { phase: "attempt" | "execution"; reminderId: string } | null = null;
  let lost: RemindersLost | null = null;
  let state: "new" | "started" | "stopped" = "new";

  const now = () => timestampNow(clock);
  const effective = () => effectiveOf(all.values());
  const executes = (reminderId: string) => slot?.phase === "execution" && slot.reminderId === reminderId;

  function recordsOf(reminders: readonly Reminder[]): ReminderRecord[] {
    const first = effective();
    return reminders.map((reminder) =>
      toRecord(reminder, {
        nowMs: clock.nowMs(),
        effective: first,
        executing: executes(reminder.reminder_id),
        waiting: reminder === first ? deferrals.waitingOf(reminder) : null,
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
      effective_reminder_id: effective()?.reminder_id ?? null,
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

  function refuseLong(reminders: readonly Pick<Reminder, "title" | "prompt" | "send_keys">[]): void {
    const chars = reminders.reduce((sum, one) => sum + charsOf(one), 0);
    if (chars <= maxReminderChars) return;
    throw new ServiceError(
      "conflict",
      `a gateway holds at most ${maxReminderChars} characters of reminders; remove some first`,
    );
  }

  const entries = () => recordsOf(inRanking(all.values())).map(toEntry);

  function changed(): void {
    ledger.keep({ lost_at_utc: null, reminders: entries() });
    loop.wake();
  }

  function decide(readiness: Readiness): ReminderDecision {
    const { depth, running } = deps.queue();
    return decideReminder({
      nowMs: clock.nowMs(),
      effective: effective(),
      admission: deps.admission(),
      running,
      queueDepth: depth,
      readiness,
    });
  }

  /** False, with nothing changed, when it is no longer this reminder's turn. */
  function begin(reminder: Reminder): boolean {
    // A fresh look has just proved that the agent is fit; what was known before it does not count.
    const wanted = effective() === reminder && decide({ ready: true }).do === "deliver";
    if (!wanted) return false;
    const started = { ...reminder, last_started_at_utc: now() };
    all.set(reminder.reminder_id, started);
    slot = { phase: "execution", reminderId: reminder.reminder_id };
    history.started(started);
    deps.onChange();
    return true;
  }

  function finish(reminderId: string, errorDetail: string | null): void {
    // Absent when it was deleted meanwhile.
    const left = all.get(reminderId);
    let nextDueMs: number | null = null;
    if (left && left.interval_seconds !== null) {
      const { dueMs, interval_seconds: intervalSeconds } = left;
      nextDueMs = nextDue({ dueMs, intervalSeconds, endedMs: clock.nowMs() });
      all.set(reminderId, { ...left, dueMs: nextDueMs });
    } else {
      all.delete(reminderId);
    }
    history.ended(reminderId, { errorDetail, nextDueMs });
    changed();
  }

  /** Returns how long to rest afterwards, milliseconds. */
  async function attempt(reminder: Reminder): Promise<number> {
    const { reminder_id } = reminder;
    slot = { phase: "attempt", reminderId: reminder_id };
    try {
      const delivery = await deliver(agent, reminder, {
        begin: () => begin(reminder),
        onEvidence: (evidence) => history.evidence(reminder_id, evidence),
      });
      switch (delivery.outcome) {
        case "withdrawn":
          return 0;
        case "refused":
          if (effective() === reminder) {
            const { code: reason, detail } = delivery.refusal;
            deferrals.note(reminder, { reason, detail });
          }
          return refusedAgainMs;
        case "delivered":
          finish(reminder_id, null);
          return 0;
        case "failed":
          finish(reminder_id, delivery.detail);
          return 0;
      }
    } finally {
      slot = null;
      deps.onChange();
    }
  }

  async function turn(): Promise<number | null> {
    const reminder = effective();
    if (!reminder) return null;
    const decision = decide(agent.readiness("turn_boundary"));
    switch (decision.do) {
      case "rest":
        return null;
      case "sleep":
        return Math.min(decision.delayMs, longestNapMs);
      case "defer":
        deferrals.note(reminder, decision);
        return null;
      case "deliver":
        return attempt(reminder);
    }
  }

  const loop = createLoop({
    clock,
    turn,
    onError: (error) => log.line("reminder worker fault", { error: messageOf(error) }),
  });

  return {
    create(definitions) {
      if (state === "stopped") throw new ServiceError("unavailable", "the gateway is stopping");
      const defined = read(definitions, (nth) => ["reminders", nth]);
      if (all.size + defined.length > maxReminders) {
        throw new ServiceError(
          "conflict",
          `a gateway holds at most ${maxReminders} reminders, and ${all.size} are here; remove some first`,
        );
      }
      refuseLong([...all.values(), ...defined]);
      const reminders = defined.map((one): Reminder => {
        const reminder_id = `greminder-${ids.hex(6)}`;
        const born = { reminder_id, created_at_utc: now(), last_started_at_utc: null };
        return { ...one, ...born, order: created++ };
      });
      for (const reminder of reminders) {
        all.set(reminder.reminder_id, reminder);
        history.registered(reminder);
      }
      changed();
      return listOf(reminders);
    },
    list: () => listOf(inRanking(all.values())),
    get: recordOf,
    update(reminderId, definition) {
      const before = find(reminderId);
      const [defined] = read([definition], () => []);
      if (executes(reminderId)) {
        throw new ServiceError("conflict", "the reminder is being delivered; update it afterwards");
      }
      const reminder = { ...before, ...defined };
      refuseLong([...inRanking(all.values()).filter((one) => one !== before), reminder]);
      all.set(reminderId, reminder);
      history.updated(reminder);
      changed();
      return recordOf(reminderId);
    },
    remove(reminderId) {
      find(reminderId);
      const executing = executes(reminderId);
      all.delete(reminderId);
      const detail = executing ? "the delivery under way goes on; nothing follows it" : "deleted";
      history.deleted(reminderId, { executing, detail });
      changed();
      return {
        schema_version: 1,
        status: "ok",
        action: "delete_reminder",
        reminder_id: reminderId,
        deleted: true,
        detail,
      };
    },
    phase: () => slot?.phase ?? null,
    lost: () => lost,
    wake() {
      if (all.size > 0) loop.wake();
    },
    start() {
      if (state === "started") return;
      state = "started";
      const former = ledger.takeOver();
      if (former) {
        // A process that stopped in good order has reported them itself.
        if (former.lost_at_utc === null) history.lost(former.reminders);
        lost = { count: former.reminders.length, at_utc: former.lost_at_utc ?? now() };
        deps.onChange();
      }
      loop.start();
    },
    async stop() {
      state = "stopped";
      await loop.stop();
      if (all.size === 0) return;
      ledger.keep({ lost_at_utc: now(), reminders: entries() });
      history.lost(entries());
      all.clear();
    },
  };
}

export type Delivery =
  | { outcome: "delivered" }
  /** Nothing was typed: the agent, looked at afresh, was not fit. */
  | { outcome: "refused"; refusal: Refusal }
  /** Nothing was typed: `begin` said no. */
  | { outcome: "withdrawn" }
  | { outcome: "failed"; detail: string };

/**
 * Gives the agent what a reminder is for. `begin` is asked right before the first byte whether it is still wanted.
 * Never rejects after that.
 */
async function deliver(
  agent: Pick<Agent, "submit" | "keys">,
  reminder: Pick<Reminder, "reminder_id" | "prompt" | "send_keys">,
  hooks: { begin: () => boolean; onEvidence: (evidence: Evidence) => void },
): Promise<Delivery> {
  let begun = false;
  let withdrawn = false;
  const begin = () => {
    begun = hooks.begin();
    withdrawn = !begun;
    // The agent types nothing when this throws.
    if (withdrawn) throw new Error("the reminder is no longer wanted");
  };
  try {
    const { reminder_id: requestId, prompt, send_keys: keys } = reminder;
    if (keys) {
      begin();
      const sequence = keys.ensure_enter ? withOneEnter(keys.sequence) : keys.sequence;
      await agent.keys({ sequence, literal: false });
      return { outcome: "delivered" };
    }
    const outcome = await agent.submit({
      prompt: prompt ?? "",
      // With an id it is no direct prompt, which alone consumes a headless agent's override (contract 2.4).
      requestId,
      policy: "turn_boundary",
      begin,
      onEvidence: hooks.onEvidence,
    });
    if (withdrawn) return { outcome: "withdrawn" };
    if (outcome.outcome === "refused") return outcome;
    if (outcome.outcome === "failed") return { outcome: "failed", detail: outcome.detail };
    return { outcome: "delivered" };
  } catch (error) {
    if (withdrawn) return { outcome: "withdrawn" };
    if (begun) return { outcome: "failed", detail: messageOf(error) };
    throw error;
  }
}
