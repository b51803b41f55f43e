import type { ReminderDefinition, ReminderRecord } from "../protocol/reminders.ts";
import { maxSequence } from "../protocol/wire.ts";
import { type Flags, UsageError, type Values } from "./command.ts";
import { toWholeNumber } from "./flag-values.ts";

const rankingFlags = {
  ranking: {
    type: "string",
    description: "whole number; the smallest is effective and blocks the others (default 0)",
    valueHint: "N",
  },
  "before-all": { type: "boolean", description: "rank it before all others" },
  "after-all": { type: "boolean", description: "rank it behind all others" },
} satisfies Flags;

/** All fields of a reminder but its title. */
export const reminderFlags = {
  mode: { type: "enum", options: ["one-off", "repeat"], description: "default: repeat with an interval" },
  prompt: { type: "string", description: "the text to submit when it is due", valueHint: "TEXT" },
  sequence: {
    type: "string",
    description:
      "the keys to press when it is due, as for send-keys, at most 65536 characters; instead of a prompt",
    valueHint: "TEXT",
  },
  "ensure-enter": {
    type: "enum",
    options: ["yes", "no"],
    description: "end the keys with exactly one <[Enter]> (default yes)",
  },
  ...rankingFlags,
  paused: { type: "enum", options: ["yes", "no"], description: "deliver nothing and still block the others" },
  "start-after-seconds": { type: "string", description: "due so long from now", valueHint: "SECONDS" },
  "deliver-at-utc": {
    type: "string",
    description: "due at this time, such as 2026-11-21T04:47:00Z",
    valueHint: "TIME",
  },
  "interval-seconds": { type: "string", description: "from one due time to the next", valueHint: "SECONDS" },
  cron: {
    type: "string",
    description:
      'when it is due: minute, hour, day of month, month, day of week, such as "30 9 * * 1-5"; instead of a due time and an interval',
    valueHint: "EXPRESSION",
  },
  "time-zone": {
    type: "string",
    description: "of --cron, such as Europe/Berlin (default UTC)",
    valueHint: "ZONE",
  },
  durable: {
    type: "enum",
    options: ["yes", "no"],
    description:
      "survive a restart of the gateway; what fell due meanwhile is delivered once (default with --cron)",
  },
  independent: {
    type: "enum",
    options: ["yes", "no"],
    description: "block no other reminder and be blocked by none (default with --cron)",
  },
} satisfies Flags;

type Given = Values<typeof reminderFlags> & { title?: string | undefined };

/**
 * The whole definition that the flags ask for. `current`: the reminder to change, whose fields hold where no
 * flag says otherwise, its next due time included; null for a new one. `others`: what else there is. Throws
 * UsageError. Pure.
 */
export function planReminder(facts: {
  given: Given;
  current: ReminderRecord | null;
  others: readonly Pick<ReminderRecord, "ranking">[];
}): ReminderDefinition {
  const { given, current } = facts;
  const interval_seconds = toSeconds("interval-seconds", given["interval-seconds"]) ?? null;
  const isCron = given.cron !== undefined;
  const mode = isCron ? "repeat" : modeOf(given, interval_seconds, current);
  const title = given.title ?? current?.title;
  if (title === undefined || title.trim() === "") throw new UsageError("--title is empty");
  return {
    mode,
    title,
    ...whatOf(given, current),
    ranking: rankingOf(facts) ?? current?.ranking ?? 0,
    paused: given.paused === undefined ? (current?.paused ?? false) : given.paused === "yes",
    ...flagOf("durable", given, current),
    ...flagOf("independent", given, current),
    ...timesOf(given, current, { mode, interval_seconds }),
  };
}

function flagOf(name: "durable" | "independent", given: Given, current: ReminderRecord | null) {
  if (given[name] !== undefined) return { [name]: given[name] === "yes" };
  if (current?.[name]) return { [name]: true };
  // Without the field a cron expression brings the other default.
  return current?.cron === undefined ? {} : { [name]: false };
}

function timesOf(
  given: Given,
  current: ReminderRecord | null,
  { mode, interval_seconds }: Pick<ReminderDefinition, "mode" | "interval_seconds">,
): Partial<ReminderDefinition> {
  const cron = cronOf(given, current);
  if (cron !== null) return cron;
  if (given["time-zone"] !== undefined) throw new UsageError("--time-zone goes with --cron");
  return {
    ...whenOf(given, current),
    ...(mode === "repeat" ? { interval_seconds: interval_seconds ?? current?.interval_seconds ?? null } : {}),
  };
}

/** Null when no cron expression says when. */
function cronOf(given: Given, current: ReminderRecord | null): Partial<ReminderDefinition> | null {
  const others = (["start-after-seconds", "deliver-at-utc", "interval-seconds"] as const).filter(
    (name) => given[name] !== undefined,
  );
  if (given.cron === undefined && (others.length > 0 || current?.cron === undefined)) return null;
  if (others[0] !== undefined) throw new UsageError(`give one of --cron and --${others[0]}`);
  if (given.mode === "one-off") throw new UsageError("--cron is for --mode repeat");
  const cron = given.cron ?? current?.cron ?? "";
  return { cron, time_zone: given["time-zone"] ?? current?.time_zone ?? "UTC" };
}

function modeOf(given: Given, interval: number | null, current: ReminderRecord | null) {
  if (given.mode === "one-off" && interval !== null) {
    throw new UsageError("--interval-seconds is for --mode repeat");
  }
  if (given.mode === "repeat" && interval === null && current?.mode !== "repeat") {
    throw new UsageError("--mode repeat needs --interval-seconds");
  }
  if (given.mode !== undefined) return given.mode === "repeat" ? "repeat" : "one_off";
  return interval === null ? (current?.mode ?? "one_off") : "repeat";
}

/** UsageError for keys that no gateway takes. */
export function refuseLongSequence(sequence: string): void {
  if (sequence.length <= maxSequence) return;
  throw new UsageError(`--sequence has ${sequence.length} characters; at most ${maxSequence} are taken`);
}

function whatOf(given: Given, current: ReminderRecord | null): Partial<ReminderDefinition> {
  const { prompt, sequence, "ensure-enter": enter } = given;
  if (prompt !== undefined && sequence !== undefined) {
    throw new UsageError("give one of --prompt and --sequence");
  }
  if (sequence !== undefined) refuseLongSequence(sequence);
  const before = prompt === undefined ? current?.send_keys : null;
  const keys = sequence ?? before?.sequence;
  if (keys !== undefined) {
    const ensure_enter = enter === undefined ? (before?.ensure_enter ?? true) : enter === "yes";
    return { send_keys: { sequence: keys, ensure_enter } };
  }
  if (enter !== undefined) throw new UsageError("--ensure-enter goes with --sequence");
  const text = prompt ?? current?.prompt;
  if (typeof text !== "string" || text.trim() === "")
    throw new UsageError("the prompt is empty; give it with --prompt or on standard input");
  return { prompt: text };
}

function whenOf(given: Given, current: ReminderRecord | null): Partial<ReminderDefinition> {
  const after = toSeconds("start-after-seconds", given["start-after-seconds"]);
  const at = given["deliver-at-utc"];
  if (after !== undefined && at === undefined) return { start_after_seconds: after };
  const known = at ?? (after === undefined ? current?.next_due_at_utc : undefined);
  if (known !== undefined && after === undefined) return { deliver_at_utc: known };
  throw new UsageError("give exactly one of --start-after-seconds and --deliver-at-utc");
}

function rankingOf({ given, others }: Parameters<typeof planReminder>[0]): number | undefined {
  const { ranking, "before-all": before, "after-all": after } = given;
  if ([ranking !== undefined, before, after].filter(Boolean).length > 1) {
    throw new UsageError("give one of --ranking, --before-all and --after-all");
  }
  const { MIN_SAFE_INTEGER: least, MAX_SAFE_INTEGER: max } = Number;
  if (!before && !after) return toWholeNumber("ranking", ranking, least, max);
  const rankings = others.map((one) => one.ranking);
  if (rankings.length === 0) return 0;
  return before ? Math.min(...rankings) - 1 : Math.max(...rankings) + 1;
}

function toSeconds(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value) && value > 0) return value;
  throw new UsageError(`--${name} takes a number of seconds above 0, not "${text}"`);
}
