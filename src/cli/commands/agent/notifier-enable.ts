import type { NotifierUpdate } from "../../../protocol/notifier.ts";
import { command, UsageError } from "../../command.ts";
import { toWholeNumber } from "../../flag-values.ts";
import { bodyOf } from "../../gateway-call.ts";
import { notifyBlockFlags, readNotifyBlockFlags } from "../../notify-block-flags.ts";
import { openLiveTarget } from "../../target.ts";
import { openWorld } from "../../world.ts";
import { notifierText } from "./notifier-text.ts";

export default command({
  name: "enable",
  description: "wake the agent when mail arrives; what is not named stays as it is",
  examples: [
    "svc-mgr agents single --agent-name worker gateway mail-notifier enable",
    "svc-mgr agents single --agent-name worker gateway mail-notifier enable --interval-seconds 300 --mode unread_only",
  ],
  args: {
    "interval-seconds": {
      type: "string",
      description: "look at the mailbox at least this often; 60 when never set",
      valueHint: "SECONDS",
    },
    mode: {
      type: "enum",
      options: ["any_inbox", "unread_only"],
      description: "what counts: all of the inbox, or what is unread in it",
    },
    "appendix-text": {
      type: "string",
      description: 'guidance for the round, part of every wake-up prompt; "" clears it',
      valueHint: "TEXT",
    },
    "context-error-policy": {
      type: "enum",
      options: ["continue_current", "clear_context"],
      description: "what to do when the tool says that its context is damaged",
    },
    "pre-notification-context-action": {
      type: "enum",
      options: ["none", "compact"],
      description: "what to do to the chat before each wake-up",
    },
    "wake-policy": {
      type: "enum",
      options: ["every_poll", "on_change"],
      description: "wake for the same mail on each poll, or only when there is something new",
    },
    "min-gap-seconds": {
      type: "string",
      description: "least time between two wake-ups",
      valueHint: "SECONDS",
    },
    "quiet-hours": {
      type: "string",
      description: 'no wake-ups in these hours, such as "22:00-07:00 Europe/Berlin"; "" ends it',
      valueHint: "HH:MM-HH:MM [ZONE]",
    },
    ...notifyBlockFlags,
  },
  async run(invocation) {
    const { args, io } = invocation;
    const interval = toWholeNumber("interval-seconds", args["interval-seconds"], 1, 86_400);
    const gap = toWholeNumber("min-gap-seconds", args["min-gap-seconds"], 0, 86_400);
    const quiet = args["quiet-hours"];
    const world = openWorld(io, invocation.inherited);
    const update: NotifierUpdate = {
      schema_version: 1,
      enabled: true,
      ...(interval === undefined ? {} : { interval_seconds: interval }),
      ...(gap === undefined ? {} : { min_gap_seconds: gap }),
      ...(quiet === undefined ? {} : { quiet_hours: toQuietHours(quiet) }),
      ...given("mode", args.mode),
      ...given("appendix_text", args["appendix-text"]),
      ...given("context_error_policy", args["context-error-policy"]),
      ...given("pre_notification_context_action", args["pre-notification-context-action"]),
      ...given("wake_policy", args["wake-policy"]),
      ...(await readNotifyBlockFlags(args, world.files, io.cwd)),
    };
    const { link } = await openLiveTarget(invocation);
    const status = bodyOf(await link.client.call("updateNotifier", { body: update }));
    return { json: status, text: notifierText(status) };
  },
});

function given<K extends string, V>(name: K, value: V | undefined): Partial<Record<K, V>> {
  return value === undefined ? {} : ({ [name]: value } as Partial<Record<K, V>>);
}

function toQuietHours(text: string): NonNullable<NotifierUpdate["quiet_hours"]> {
  if (text.trim() === "") return "none";
  const found = /^(\d\d:\d\d)-(\d\d:\d\d)(?:\s+(\S+))?$/.exec(text.trim());
  const [, start, end, time_zone = "UTC"] = found ?? [];
  if (start === undefined || end === undefined) {
    throw new UsageError(`--quiet-hours must look like "22:00-07:00 Europe/Berlin", not "${text}"`);
  }
  return { start, end, time_zone };
}
