import type { WakesHeld } from "../../protocol/gateway.ts";
import type { NotifierTrigger } from "../../protocol/notifier.ts";
import type { BeforeWake, LastPoll } from "./decide.ts";
import type { Hold } from "./wake.ts";

/**
 * What the notifier of one agent does and what makes its next poll due. Times are monotonic milliseconds.
 *
 * `phase`:
 * ```
 *   off <──switched_off── waiting ──poll_began──> polling <──context_action──> polling, with an action
 *    └────switched_on──────> ^ └───poll_ended, poll_failed───┘
 * ```
 *
 * `mail`: whether mail waits for a poll, and what makes that poll due before the one of the interval:
 * ```
 *   none ──mail_arrived──> new ──poll_began──> none, and by what that poll came to:
 *                        ^                   ├─ a busy agent ────────> deferred ──agent free──> poll
 *                        │                   ├─ held until a time ───> held ──that time───────> poll
 *                        │                   └─ anything else ───────> none
 *                        └──poll_failed──────┘ unless it acted
 * ```
 * Mail that comes during a poll stays `new`. A poll of the interval answers `new` mail too; `deferred` and
 * `held` mail it leaves as it is, unless it woke the agent. `backoff` delays `new` mail.
 */
export interface NotifierState {
  /** `off`: nothing to do until the settings change. */
  phase:
    | { is: "off" }
    | { is: "waiting" }
    /** `contextAction`: what is done to the agent's conversation at this moment. */
    | { is: "polling"; trigger: NotifierTrigger; answersMail: boolean; contextAction: BeforeWake | null };
  mail: { is: "none" } | { is: "new" } | { is: "deferred" } | { is: "held"; untilMs: number };
  /** When the poll of the interval is due. */
  scheduledAtMs: number;
  intervalMs: number;
  /** Until then `new` mail causes no poll; after a poll that found the agent busy, a free agent ends it. */
  backoff: { untilMs: number; endsWhenFree: boolean } | null;
  /** The limit that keeps mail from waking the agent, as of the last poll. */
  wakesHeld: WakesHeld | null;
  /** What the last poll came to; null before the first. */
  lastPoll: LastPoll | null;
}

export type NotifierEvent =
  | { kind: "started"; nowMs: number; intervalMs: number }
  | { kind: "switched_on" }
  | { kind: "switched_off" }
  | { kind: "mail_arrived" }
  /** `wasEnabled`: before the change. */
  | { kind: "settings_changed"; nowMs: number; intervalMs: number; enabled: boolean; wasEnabled: boolean }
  | { kind: "poll_began"; trigger: NotifierTrigger }
  /** Null: it is over. */
  | { kind: "context_action"; action: BeforeWake | null }
  | ({ kind: "poll_ended"; nowMs: number; nowUtc: string } & PollResult)
  /** The poll is not on record. `acted`: it did something that must not be repeated each second. */
  | { kind: "poll_failed"; nowMs: number; acted: boolean };

interface PollResult extends Omit<LastPoll, "hold"> {
  hold: Hold | null;
  limit: Pick<WakesHeld, "reason" | "detail"> | null;
}

/** A burst of mail for an agent that cannot be woken is looked at this often, lest it fill the audit. */
const backoffMs = 1000;

/** A gateway that starts looks at its mail at once. */
export const initialState: NotifierState = {
  phase: { is: "waiting" },
  mail: { is: "new" },
  scheduledAtMs: 0,
  intervalMs: 0,
  backoff: null,
  wakesHeld: null,
  lastPoll: null,
};

/** Pure. */
export function next(state: NotifierState, event: NotifierEvent): NotifierState {
  switch (event.kind) {
    case "started":
      return schedule({ ...state, intervalMs: event.intervalMs }, event.nowMs);
    case "switched_on":
      return state.phase.is === "off" ? { ...state, phase: { is: "waiting" } } : state;
    case "switched_off":
      return { ...state, phase: { is: "off" }, wakesHeld: null };
    case "mail_arrived":
      return { ...state, mail: { is: "new" } };
    case "settings_changed": {
      const { enabled, wasEnabled, intervalMs, nowMs } = event;
      const changed = { ...state, intervalMs, backoff: null };
      const after = wasEnabled && intervalMs === state.intervalMs ? changed : schedule(changed, nowMs);
      // Settings may let through what a limit held back.
      const mayWake = !wasEnabled || state.mail.is === "held" || state.wakesHeld !== null;
      return enabled && mayWake ? { ...after, mail: { is: "new" } } : after;
    }
    case "poll_began": {
      const { trigger } = event;
      const answersMail = trigger === "doorbell" || state.mail.is === "new";
      return {
        ...state,
        phase: { is: "polling", trigger, answersMail, contextAction: null },
        mail: answersMail ? { is: "none" } : state.mail,
      };
    }
    case "context_action":
      return state.phase.is === "polling"
        ? { ...state, phase: { ...state.phase, contextAction: event.action } }
        : state;
    case "poll_ended":
      return afterPoll(state, event);
    case "poll_failed": {
      const { nowMs, acted } = event;
      const after: NotifierState = {
        ...state,
        phase: { is: "waiting" },
        mail: answersMail(state) && !acted ? { is: "new" } : state.mail,
        backoff: { untilMs: nowMs + backoffMs, endsWhenFree: false },
      };
      return acted && nowMs >= state.scheduledAtMs ? schedule(after, nowMs) : after;
    }
  }
}

function afterPoll(
  state: NotifierState,
  { nowMs, nowUtc, ...result }: Extract<NotifierEvent, { kind: "poll_ended" }>,
): NotifierState {
  const { outcome, detail, hold, limit } = result;
  const heldForMs = hold?.forMs ?? null;
  const after: NotifierState = {
    ...state,
    phase: { is: "waiting" },
    mail: mailAfter(state, result, nowMs),
    backoff:
      outcome === "busy_skip"
        ? { untilMs: nowMs + backoffMs, endsWhenFree: true }
        : heldForMs === null
          ? null
          : { untilMs: nowMs + Math.min(backoffMs, heldForMs), endsWhenFree: false },
    wakesHeld: limit && holdSince(limit, state.wakesHeld, nowUtc),
    lastPoll: { outcome, detail, hold },
  };
  const wasScheduled = state.phase.is === "polling" && state.phase.trigger === "interval";
  return wasScheduled ? schedule(after, nowMs) : after;
}

function mailAfter(
  state: NotifierState,
  { outcome, hold }: PollResult,
  nowMs: number,
): NotifierState["mail"] {
  // It came during the poll.
  if (state.mail.is === "new") return state.mail;
  if (outcome === "enqueued") return { is: "none" };
  if (!answersMail(state)) return state.mail;
  if (outcome === "busy_skip") return { is: "deferred" };
  return hold?.forMs == null ? { is: "none" } : { is: "held", untilMs: nowMs + hold.forMs };
}

/** The same object while nothing of it changes. */
function holdSince(
  { reason, detail }: Pick<WakesHeld, "reason" | "detail">,
  previous: WakesHeld | null,
  nowUtc: string,
): WakesHeld {
  if (previous?.reason !== reason) return { reason, detail, since_utc: nowUtc };
  return previous.detail === detail ? previous : { ...previous, detail };
}

const answersMail = ({ phase }: NotifierState) => phase.is === "polling" && phase.answersMail;

function schedule(state: NotifierState, nowMs: number): NotifierState {
  return { ...state, scheduledAtMs: nowMs + state.intervalMs };
}

/**
 * Which poll is due, or how long nothing but time makes none due. `isFree`: the agent can be given a prompt;
 * asked only where it matters. Pure.
 */
export function planPoll(
  state: Pick<NotifierState, "mail" | "backoff" | "scheduledAtMs">,
  { nowMs, isFree }: { nowMs: number; isFree: () => boolean },
): { poll: NotifierTrigger } | { waitMs: number } {
  const { mail, backoff, scheduledAtMs } = state;
  let mailAtMs = Number.POSITIVE_INFINITY;
  switch (mail.is) {
    case "none":
      break;
    case "new":
      mailAtMs = backoff === null || (backoff.endsWhenFree && isFree()) ? nowMs : backoff.untilMs;
      break;
    case "deferred":
      if (isFree()) mailAtMs = nowMs;
      break;
    case "held":
      mailAtMs = mail.untilMs;
      break;
  }
  if (mailAtMs <= nowMs) return { poll: "doorbell" };
  if (scheduledAtMs <= nowMs) return { poll: "interval" };
  return { waitMs: Math.max(1, Math.min(mailAtMs, scheduledAtMs) - nowMs) };
}
