import { pathParameters } from "../../../protocol/endpoint.ts";
import type { ReminderFiring, ReminderRecord } from "../../../protocol/reminders.ts";
import { visibleLine } from "../../../system/visible.ts";
import { endpointCommand } from "../../agent/endpoint-command.ts";
import { planReminder, reminderFlags } from "../../agent/reminder-flags.ts";
import { bodyOf, openLiveTarget } from "../../agent/target.ts";
import { command, type Flags, UsageError } from "../../command-line/command.ts";
import { readId, readPrompt } from "../../command-line/flag-values.ts";
import { renderPairs, renderTable } from "../../command-line/format.ts";

const idFlag = {
  id: { type: "positional", description: pathParameters["reminder_id"]?.description ?? "" },
} satisfies Flags;

const list = endpointCommand("listReminders", {
  name: "list",
  description: "list the gateway's reminders, the effective one first, and the newest deliveries",
  examples: ["svc-mgr agents single --agent-name worker gateway reminders list"],
  render: ({ reminders, firings = [] }) =>
    [
      reminders.length === 0 ? "no reminders" : renderReminders(reminders),
      ...(firings.length === 0 ? [] : [renderFirings(firings)]),
    ].join("\n\n"),
});

const get = endpointCommand("readReminder", {
  name: "get",
  description: "show one reminder and what it waits for",
  examples: ["svc-mgr agents single --agent-name worker gateway reminders get greminder-0a1b2c3d4e5f"],
  render: renderReminder,
});

const create = command({
  name: "create",
  description: "have the gateway submit a prompt or press keys later, once or again and again",
  examples: [
    'svc-mgr agents single --agent-name worker gateway reminders create --title "look again" --prompt "Is the build done?" --start-after-seconds 600',
    'svc-mgr agents self gateway reminders create --title tidy --sequence "/compact" --deliver-at-utc 2030-01-01T06:00:00Z --interval-seconds 86400 --after-all',
    'svc-mgr agents single --agent-name worker gateway reminders create --title standup --prompt "Report what is open." --cron "30 9 * * 1-5" --time-zone Europe/Berlin',
  ],
  args: {
    ...reminderFlags,
    title: { ...reminderFlags.title, required: true },
  },
  async run(invocation) {
    const { args, io } = invocation;
    const prompt = args.sequence === undefined ? await readPrompt(args.prompt, io) : args.prompt;
    const given = { ...args, prompt };
    // Reports a wrong command line before the gateway is looked up.
    planReminder({ given, current: null, others: [] });
    const { link } = await openLiveTarget(invocation);
    const { reminders: others } = bodyOf(await link.client.call("listReminders", {}));
    const definition = planReminder({ given, current: null, others });
    const body = { schema_version: 1 as const, reminders: [definition] };
    const created = bodyOf(await link.client.call("createReminders", { body }));
    return { json: created, text: created.reminders.map(renderReminder).join("\n\n") };
  },
});

const set = command({
  name: "set",
  description: "change a reminder; what no flag names stays, the due time included",
  examples: [
    "svc-mgr agents single --agent-name worker gateway reminders set greminder-0a1b2c3d4e5f --paused yes",
    "svc-mgr agents single --agent-name worker gateway reminders set greminder-0a1b2c3d4e5f --before-all --start-after-seconds 60",
  ],
  args: {
    ...idFlag,
    ...reminderFlags,
  },
  async run(invocation) {
    const { id: givenId, ...given } = invocation.args;
    const id = readId(givenId, invocation.path);
    if (Object.values(given).every((value) => value === undefined || value === false)) {
      throw new UsageError("nothing is to be changed", invocation.path);
    }
    const { link } = await openLiveTarget(invocation);
    const params = { reminder_id: id };
    const current = bodyOf(await link.client.call("readReminder", { params }));
    const { reminders } = bodyOf(await link.client.call("listReminders", {}));
    const others = reminders.filter((one) => one.reminder_id !== id);
    const definition = planReminder({ given, current, others });
    const body = { schema_version: 1 as const, ...definition };
    const record = bodyOf(await link.client.call("updateReminder", { params, body }));
    return { json: record, text: renderReminder(record) };
  },
});

const remove = endpointCommand("deleteReminder", {
  name: "remove",
  description: "delete a reminder; a delivery under way goes on to its end",
  examples: ["svc-mgr agents single --agent-name worker gateway reminders remove greminder-0a1b2c3d4e5f"],
  render: ({ reminder_id, detail }) => `${reminder_id}: ${detail}`,
});

export const reminderCommands = { list, get, create, set, remove };

/** Reminders for people, one a line, in the order given. Pure. */
export function renderReminders(reminders: readonly ReminderRecord[]): string {
  const rows = reminders.map((one) => [
    one.reminder_id,
    one.next_due_at_utc,
    cadenceOf(one),
    String(one.ranking),
    stateOf(one),
    one.delivery_kind,
    one.last_started_at_utc ?? "",
    visibleLine(one.title),
  ]);
  const heads = ["REMINDER", "DUE", "REPEATS", "RANKING", "STATE", "KIND", "LAST DELIVERY", "TITLE"];
  return renderTable(heads, rows);
}

/** Deliveries that have ended, one a line, in the order given. Pure. */
function renderFirings(firings: readonly ReminderFiring[]): string {
  const rows = firings.map((one) => [
    one.started_at_utc,
    one.outcome,
    one.request_id,
    visibleLine([one.title, one.detail].filter(Boolean).join(": ")),
  ]);
  return renderTable(["DELIVERED", "OUTCOME", "REQUEST", "TITLE"], rows);
}

/** One reminder with all that is known of it. Pure. */
export function renderReminder(reminder: ReminderRecord): string {
  const { waiting, send_keys: keys } = reminder;
  return renderPairs([
    ["reminder", reminder.reminder_id],
    ["title", visibleLine(reminder.title)],
    ["prompt", reminder.prompt && visibleLine(reminder.prompt)],
    ["keys", keys && visibleLine(keys.sequence)],
    ["ends with Enter", keys && (keys.ensure_enter ? "yes" : "as given")],
    ["due", reminder.next_due_at_utc],
    ["repeats", cadenceOf(reminder)],
    ["ranking", reminder.ranking],
    ["state", stateOf(reminder)],
    ["blocked by", reminder.blocked_by_reminder_id],
    ["waits for", waiting && `${waiting.reason} since ${waiting.since_utc}: ${waiting.detail}`],
    ["last started", reminder.last_started_at_utc],
    ["last request", reminder.last_request_id],
    ["durable", reminder.durable && "yes: it survives a restart of the gateway"],
    ["independent", reminder.independent && "yes: it blocks no other and is blocked by none"],
    ["created", reminder.created_at_utc],
  ]);
}

function cadenceOf({ interval_seconds: seconds, cron, time_zone }: ReminderRecord): string {
  if (cron !== undefined) return `${cron} ${time_zone ?? ""}`.trim();
  return seconds === null ? "once" : `every ${seconds} s`;
}

function stateOf({ delivery_state, selection_state, paused }: ReminderRecord): string {
  return [delivery_state, selection_state === "blocked" ? "blocked" : "", paused ? "paused" : ""]
    .filter((part) => part !== "")
    .join(", ");
}
