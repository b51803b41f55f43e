import { patterns } from "../../protocol/enforced.ts";
import type { ReminderDefinition } from "../../protocol/reminders.ts";
import type { ValidationIssue } from "../../protocol/wire.ts";
import { parseTimestamp } from "../../system/clock.ts";
import { cronProblem, nextRun } from "../../system/cron.ts";
import { ServiceError } from "../../system/errors.ts";
import { keySequenceProblem } from "../agent/key-sequence.ts";
import type { Reminder } from "./reminder.ts";

interface DefinitionFacts {
  nowMs: number;
  /** Keys arrive at this agent exactly as they were sent. */
  exactKeys: boolean;
}

/** What a reminder keeps when it is redefined. */
type FixedField =
  | "reminder_id"
  | "order"
  | "created_at_utc"
  | "last_started_at_utc"
  | "last_request_id"
  | "executing_request_id";

/** The part of a reminder that its definition decides: each field, so that a definition replaces all of them. */
type Defined = Required<Omit<Reminder, FixedField>>;

/** `previous` with `defined` in place of its definition. Pure. Source: spec/gateway.md 2.3, PUT. */
export function redefine(previous: Reminder, defined: Defined): Reminder {
  const { reminder_id, order, created_at_utc, last_started_at_utc } = previous;
  const { last_request_id, executing_request_id } = previous;
  const course = { last_started_at_utc, last_request_id, executing_request_id };
  return { ...defined, ...course, reminder_id, order, created_at_utc };
}

/**
 * All definitions of one request as reminders. Throws ServiceError `invalid_request` with the problems in
 * `data.issues` (at most 20), each `loc` from the request's body down; `at` gives the path of the nth
 * definition.
 */
export function readDefinitions(
  definitions: readonly ReminderDefinition[],
  facts: DefinitionFacts,
  at: (nth: number) => ValidationIssue["loc"],
): Defined[] {
  const read = definitions.map((definition) => readDefinition(definition, facts));
  const issues = read.flatMap((one, nth) =>
    "issues" in one ? one.issues.map((found) => ({ ...found, loc: [...at(nth), ...found.loc] })) : [],
  );
  if (issues.length > 0) {
    throw new ServiceError("invalid_request", "the reminder is not valid", {
      data: { issues: issues.slice(0, 20) },
    });
  }
  return read.flatMap((one) => ("defined" in one ? [one.defined] : []));
}

/**
 * A definition that fits its schema as a reminder, or what is wrong with it across its fields, each `loc`
 * from the definition down. Pure. Source: contract 4.3; spec/gateway.md 2.3.
 */
function readDefinition(
  definition: ReminderDefinition,
  facts: DefinitionFacts,
): { defined: Defined } | { issues: ValidationIssue[] } {
  const issues = [
    ...onlyOne(definition, "prompt", "send_keys"),
    ...faultsOfTime(definition),
    ...faultsOfKeys(definition, facts.exactKeys),
  ];
  const dueMs = issues.length > 0 ? facts.nowMs : dueOf(definition, facts.nowMs);
  if (dueMs === null) {
    issues.push(issue(["deliver_at_utc"], "must be a time like 2026-11-21T04:47:00+00:00"));
  } else if (!isDeliverable(dueMs)) {
    issues.push(issue(["deliver_at_utc"], "must lie in the years 1970 to 5999"));
  }
  if (issues.length > 0) return { issues };
  const { mode, title, ranking, paused = false, send_keys: keys } = definition;
  const cron = definition.cron ?? null;
  return {
    defined: {
      mode,
      delivery_kind: keys ? "send_keys" : "prompt",
      title,
      prompt: definition.prompt ?? null,
      send_keys: keys ? { sequence: keys.sequence, ensure_enter: keys.ensure_enter ?? true } : null,
      ranking,
      paused,
      interval_seconds: definition.interval_seconds ?? null,
      cron,
      time_zone: cron === null ? null : timeZoneOf(definition),
      // The contract's default: in memory, one after another. A schedule that a restart ends would be none.
      durable: definition.durable ?? cron !== null,
      independent: definition.independent ?? cron !== null,
      dueMs: toTellable(dueMs ?? facts.nowMs),
    },
  };
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function issue(loc: ValidationIssue["loc"], msg: string, type = "value_error"): ValidationIssue {
  return { type, loc, msg };
}

function onlyOne(
  definition: ReminderDefinition,
  first: keyof ReminderDefinition,
  second: keyof ReminderDefinition,
): ValidationIssue[] {
  const given = [first, second].filter((key) => isGiven(definition[key]));
  if (given.length === 1) return [];
  const msg = `exactly one of ${first} and ${second} must be given`;
  return given.length === 0 ? [issue([first], msg, "missing")] : [issue([second], msg)];
}

const timeZoneOf = ({ time_zone }: ReminderDefinition) => time_zone ?? "UTC";

function faultsOfTime(definition: ReminderDefinition): ValidationIssue[] {
  if (isGiven(definition.cron)) return faultsOfCron(definition);
  return [
    ...onlyOne(definition, "start_after_seconds", "deliver_at_utc"),
    ...faultsOfInterval(definition),
    ...(isGiven(definition.time_zone) ? [issue(["time_zone"], "is for cron only")] : []),
  ];
}

const cronForm = new RegExp(patterns.cron);

function faultsOfCron(definition: ReminderDefinition): ValidationIssue[] {
  const beside = (["interval_seconds", "start_after_seconds", "deliver_at_utc"] as const).filter((key) =>
    isGiven(definition[key]),
  );
  if (beside.length > 0) return beside.map((key) => issue([key], "goes not with cron"));
  if (definition.mode !== "repeat") return [issue(["cron"], "is for mode repeat only")];
  const cron = definition.cron ?? "";
  // An expression of another form is one that cannot be read.
  const problem = cronProblem(cronForm.test(cron) ? cron : "", timeZoneOf(definition));
  return problem ? [issue([problem.field], problem.message)] : [];
}

function faultsOfInterval({ mode, interval_seconds }: ReminderDefinition): ValidationIssue[] {
  if (mode === "repeat" && !isGiven(interval_seconds)) {
    return [issue(["interval_seconds"], "is required with mode repeat", "missing")];
  }
  if (mode === "one_off" && isGiven(interval_seconds)) {
    return [issue(["interval_seconds"], "is for mode repeat only")];
  }
  return [];
}

function faultsOfKeys({ send_keys: keys }: ReminderDefinition, exactKeys: boolean): ValidationIssue[] {
  if (!keys) return [];
  if (!exactKeys) return [issue(["send_keys"], "keys do not arrive exactly at this kind of session")];
  const problem = keySequenceProblem(keys.sequence);
  return problem === null ? [] : [issue(["send_keys", "sequence"], problem)];
}

/**
 * Null for a `deliver_at_utc` that is no time and a `cron` that never comes; the present where none is given.
 */
function dueOf(definition: ReminderDefinition, nowMs: number): number | null {
  if (typeof definition.cron === "string") return nextRun(definition.cron, timeZoneOf(definition), nowMs);
  const { deliver_at_utc: at, start_after_seconds: after } = definition;
  if (typeof at === "string") return parseDeliverAt(at);
  return nowMs + (after ?? 0) * 1000;
}

/** 9999-12-31T23:59:59.999Z: the last moment that a timestamp of the wire can give, epoch milliseconds. */
const latestMs = 253_402_300_799_999;

const form = new RegExp(patterns.dueTime);

/**
 * Epoch milliseconds of a `deliver_at_utc`: RFC 3339 in any precision, UTC where it names no offset. Null for
 * anything else, a day that the calendar lacks included. Pure.
 */
export function parseDeliverAt(text: string): number | null {
  if (!form.test(text)) return null;
  return parseTimestamp(/[Zz]$|[+-]\d\d:\d\d$/.test(text) ? text : `${text}Z`);
}

/** 1970-01-01 and 6000-01-01 in every time zone. */
const deliverable = { fromMs: -86_400_000, toMs: 127_174_579_200_000 };

function isDeliverable(epochMs: number): boolean {
  return epochMs >= deliverable.fromMs && epochMs <= deliverable.toMs;
}

/** The nearest moment that a timestamp can give. */
function toTellable(epochMs: number): number {
  return Math.min(latestMs, Math.max(0, epochMs));
}

/**
 * When a reminder whose delivery ended at `endedMs` is due again, epoch milliseconds; null when it never is.
 * Runs that were missed are not made up for. Pure.
 */
export function dueAgain(
  {
    cron,
    time_zone,
    interval_seconds,
    dueMs,
  }: Pick<Reminder, "cron" | "time_zone" | "interval_seconds" | "dueMs">,
  endedMs: number,
): number | null {
  // An end before the due time, as after the clock was set back, must not give the same run again.
  if (cron !== null) return nextRun(cron, time_zone ?? "UTC", Math.max(endedMs, dueMs));
  if (interval_seconds === null) return null;
  return nextDue({ dueMs, intervalSeconds: interval_seconds, endedMs });
}

/**
 * The next due time of a repeating reminder that was due at `dueMs` and whose delivery ended at `endedMs`:
 * the first moment after the end that lies a whole number of intervals after `dueMs`. Missed ones are not
 * made up for. No cadence is finer than a millisecond, nor later than a timestamp can give. Pure. Source:
 * contract 3.3.
 */
export function nextDue(facts: { dueMs: number; intervalSeconds: number; endedMs: number }): number {
  const { dueMs, endedMs } = facts;
  const intervalMs = Math.max(1, facts.intervalSeconds * 1000);
  const steps = Math.max(1, Math.floor((endedMs - dueMs) / intervalMs) + 1);
  const next = dueMs + steps * intervalMs;
  // A quotient just below a whole number may have been rounded down.
  return Math.min(latestMs, next > endedMs ? next : next + intervalMs);
}
