import { ReminderDefinition, type ReminderRecord } from "../../protocol/reminders.ts";
import { type Flags, UsageError, type Values } from "../command-line/command.ts";
import { fieldFlags } from "../command-line/field-flags.ts";

const yesOrNo = { form: "yes or no" } as const;

const fields = fieldFlags(ReminderDefinition, {
  mode: null,
  send_keys: null,
  prompt: { description: "the text to submit when it is due" },
  durable: {
    ...yesOrNo,
    description:
      "survive a restart of the gateway; what fell due meanwhile is delivered once (default with --cron)",
  },
  independent: {
    ...yesOrNo,
    description: "block no other reminder and be blocked by none (default with --cron)",
  },
  paused: { ...yesOrNo, description: "deliver nothing and still block the others" },
  deliver_at_utc: { valueHint: "TIME", description: "due at this time, such as 2026-11-21T04:47:00Z" },
  ranking: {
    description: "whole number; the smallest is effective and blocks the others (default 0)",
  },
  cron: { valueHint: "EXPRESSION" },
  time_zone: { valueHint: "ZONE" },
});

const keyFields = fieldFlags(ReminderDefinition.properties.send_keys.anyOf[0], {
  sequence: { description: "the keys to press when it is due, as for send-keys; instead of a prompt" },
  ensure_enter: { ...yesOrNo, description: "end the keys with exactly one <[Enter]> (default yes)" },
});

/** All fields of a reminder. */
export const reminderFlags = {
  mode: { type: "enum", options: ["one-off", "repeat"], description: "default: repeat with an interval" },
  ...fields.flags,
  ...keyFields.flags,
  "before-all": { type: "boolean", description: "rank it before all others" },
  "after-all": { type: "boolean", description: "rank it behind all others" },
} satisfies Flags;

type Given = Values<typeof reminderFlags>;
type GivenFields = ReturnType<typeof fields.read>;
type GivenKeys = ReturnType<typeof keyFields.read>;

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
  const read = fields.read(given);
  const interval_seconds = read.interval_seconds ?? null;
  const mode = read.cron === undefined ? modeOf(given, interval_seconds, current) : "repeat";
  const title = read.title ?? current?.title;
  if (title === undefined) throw new UsageError("--title is empty");
  return {
    mode,
    title,
    ...whatOf(read, keyFields.read(given), current),
    ranking: rankingOf(facts, read) ?? current?.ranking ?? 0,
    paused: read.paused ?? current?.paused ?? false,
    ...flagOf("durable", read, current),
    ...flagOf("independent", read, current),
    ...timesOf(given.mode, read, current, { mode, interval_seconds }),
  };
}

function flagOf(name: "durable" | "independent", read: GivenFields, current: ReminderRecord | null) {
  if (read[name] !== undefined) return { [name]: read[name] };
  if (current?.[name]) return { [name]: true };
  // Without the field a cron expression brings the other default.
  return current?.cron === undefined ? {} : { [name]: false };
}

function timesOf(
  givenMode: Given["mode"],
  read: GivenFields,
  current: ReminderRecord | null,
  { mode, interval_seconds }: Pick<ReminderDefinition, "mode" | "interval_seconds">,
): Partial<ReminderDefinition> {
  const cron = cronOf(givenMode, read, current);
  if (cron !== null) return cron;
  if (read.time_zone !== undefined) throw new UsageError("--time-zone goes with --cron");
  return {
    ...whenOf(read, current),
    ...(mode === "repeat" ? { interval_seconds: interval_seconds ?? current?.interval_seconds ?? null } : {}),
  };
}

/** Null when no cron expression says when. */
function cronOf(
  givenMode: Given["mode"],
  read: GivenFields,
  current: ReminderRecord | null,
): Partial<ReminderDefinition> | null {
  const others = (["start_after_seconds", "deliver_at_utc", "interval_seconds"] as const).filter(
    (name) => read[name] !== undefined,
  );
  if (read.cron === undefined && (others.length > 0 || current?.cron === undefined)) return null;
  if (others[0] !== undefined)
    throw new UsageError(`give one of --cron and --${others[0].replaceAll("_", "-")}`);
  if (givenMode === "one-off") throw new UsageError("--cron is for --mode repeat");
  const cron = read.cron ?? current?.cron ?? "";
  return { cron, time_zone: read.time_zone ?? current?.time_zone ?? "UTC" };
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

function whatOf(
  { prompt }: GivenFields,
  { sequence, ensure_enter: enter }: GivenKeys,
  current: ReminderRecord | null,
): Partial<ReminderDefinition> {
  if (prompt !== undefined && sequence !== undefined) {
    throw new UsageError("give one of --prompt and --sequence");
  }
  const previous = prompt === undefined ? current?.send_keys : null;
  const keys = sequence ?? previous?.sequence;
  if (keys !== undefined) {
    return { send_keys: { sequence: keys, ensure_enter: enter ?? previous?.ensure_enter ?? true } };
  }
  if (enter !== undefined) throw new UsageError("--ensure-enter goes with --sequence");
  const text = prompt ?? current?.prompt;
  if (typeof text !== "string")
    throw new UsageError("the prompt is empty; give it with --prompt or on standard input");
  return { prompt: text };
}

function whenOf(
  { start_after_seconds: after, deliver_at_utc: at }: GivenFields,
  current: ReminderRecord | null,
): Partial<ReminderDefinition> {
  if (after !== undefined && at === undefined) return { start_after_seconds: after };
  const dueTime = at ?? (after === undefined ? current?.next_due_at_utc : undefined);
  if (dueTime !== undefined && after === undefined) return { deliver_at_utc: dueTime };
  throw new UsageError("give exactly one of --start-after-seconds and --deliver-at-utc");
}

function rankingOf(
  { given, others }: Parameters<typeof planReminder>[0],
  { ranking }: GivenFields,
): number | undefined {
  const { "before-all": before, "after-all": after } = given;
  if ([ranking !== undefined, before, after].filter(Boolean).length > 1) {
    throw new UsageError("give one of --ranking, --before-all and --after-all");
  }
  if (!before && !after) return ranking;
  const rankings = others.map((one) => one.ranking);
  if (rankings.length === 0) return 0;
  return before ? Math.min(...rankings) - 1 : Math.max(...rankings) + 1;
}
