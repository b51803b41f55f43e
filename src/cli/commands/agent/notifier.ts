import { noticeMaxChars } from "../../../protocol/mail.ts";
import type { NotifierStatus, NotifierUpdate } from "../../../protocol/notifier.ts";
import { firstNotifierSettings } from "../../../services/notifier/config.ts";
import type { Files } from "../../../system/files.ts";
import { openCliContext } from "../../cli-context.ts";
import { command, type Flags, UsageError, type Values } from "../../command.ts";
import { givenFields, readFileFlag, toWholeNumber } from "../../flag-values.ts";
import { renderPairs, renderTable } from "../../format.ts";
import { bodyOf, openLiveTarget, readCommand } from "../../target.ts";

const settingFlags = {
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
    description:
      "wake for the same mail on each poll, or when there is something new and then ever more rarely",
  },
  "min-gap-seconds": {
    type: "string",
    description: "least time between two wake-ups",
    valueHint: "SECONDS",
  },
  "max-wakes-per-hour": {
    type: "string",
    description: "no further wake-up after so many in an hour; 0 is no limit",
    valueHint: "N",
  },
  "max-hops": {
    type: "string",
    description: "mail to which so many replies led wakes nobody; 0 is no limit",
    valueHint: "N",
  },
  "require-attestation": {
    type: "enum",
    options: ["none", "verified"],
    description: "wake for all mail, or only for mail that its sender's mailbox signed, as it is",
  },
  "quiet-hours": {
    type: "string",
    description: 'no wake-ups in these hours, such as "22:00-07:00 Europe/Berlin"; "" ends it',
    valueHint: "HH:MM-HH:MM [ZONE]",
  },
} as const satisfies Flags;

/** Which notices of senders a wake-up shows (contract 2.6). */
const notifyBlockFlags = {
  "notify-block-render": {
    type: "enum",
    options: ["enabled", "disabled"],
    description: "show what senders put into a notify block, or only that mail came",
  },
  "notify-block-auth-mode": {
    type: "enum",
    options: ["permissive-log", "required"],
    description: "show blocks whose sender is not proved, or only proved ones",
  },
  "notify-block-auth-verifier": {
    type: "enum",
    options: ["none", "shared-token"],
    description: "how a sender is proved",
  },
  "notify-block-token-file": {
    type: "string",
    description: "the shared tokens, one on each line; an empty file takes them all away",
    valueHint: "FILE",
  },
  "notify-block-per-message-chars": {
    type: "string",
    description: "longest block of one message",
    valueHint: "N",
  },
  "notify-block-total-chars": { type: "string", description: "of all blocks together", valueHint: "N" },
} as const satisfies Flags;

const status = readCommand({
  name: "status",
  description: "how the mail notifier is set up and what it last did",
  examples: ["svc-mgr agents single --agent-name worker gateway mail-notifier status"],
  endpoint: "readNotifier",
  render: renderNotifier,
});

const enable = command({
  name: "enable",
  description:
    "wake the agent when mail arrives; an omitted setting keeps its value, at first --wake-policy on_change, --max-wakes-per-hour 12 and --max-hops 20",
  examples: [
    "svc-mgr agents single --agent-name worker gateway mail-notifier enable",
    "svc-mgr agents single --agent-name worker gateway mail-notifier enable --interval-seconds 300 --mode unread_only",
  ],
  args: { ...settingFlags, ...notifyBlockFlags },
  async run(invocation) {
    const { args, io, inherited } = invocation;
    const settings = toSettings(args);
    const { files } = openCliContext(io, inherited);
    const tokens = await readTokens(args["notify-block-token-file"], files, io.cwd);
    const given = givenFields({ ...settings, notify_block_shared_tokens: tokens });
    const { link } = await openLiveTarget(invocation);
    const before = bodyOf(await link.client.call("readNotifier", {}));
    const first = before.interval_seconds === null ? firstNotifierSettings : {};
    const body = { schema_version: 1 as const, enabled: true, ...first, ...given };
    const json = bodyOf(await link.client.call("updateNotifier", { body }));
    return { json, text: renderNotifier(json) };
  },
});

const disable = readCommand({
  name: "disable",
  description: "wake the agent no more when mail arrives; its settings are kept",
  examples: ["svc-mgr agents single --agent-name worker gateway mail-notifier disable"],
  endpoint: "disableNotifier",
  render: renderNotifier,
});

const audit = readCommand({
  name: "audit",
  description: "what each poll found and decided, newest first",
  examples: ["svc-mgr agents single --agent-name worker gateway mail-notifier audit --limit 20"],
  args: {
    limit: { type: "string", description: "at most this many polls", valueHint: "N", default: "50" },
    before: { type: "string", description: "only polls before this number", valueHint: "ID" },
  },
  endpoint: "notifierAudit",
  request({ args }) {
    const limit = toWholeNumber("limit", args.limit, 1, 1000) ?? 50;
    const before = toWholeNumber("before", args.before, 1, Number.MAX_SAFE_INTEGER);
    return { query: { limit, ...(before === undefined ? {} : { before }) } };
  },
  render({ rows, next_before }) {
    if (rows.length === 0) return "no polls yet";
    const table = renderTable(
      ["ID", "AT", "TRIGGER", "OUTCOME", "MAIL", "CHARS", "REQUEST OR REASON"],
      rows.map((row) => [
        String(row.audit_id),
        row.poll_time_utc,
        row.trigger,
        row.outcome,
        String(row.unread_count ?? "-"),
        String(row.prompt_chars),
        row.enqueued_request_id ?? row.detail ?? "",
      ]),
    );
    return next_before === null ? table : `${table}\nolder polls: --before ${next_before}`;
  },
});

export const notifierCommands = { status, enable, disable, audit };

/** The fields of the update; undefined where the flag is absent. Throws UsageError. Pure. */
function toSettings(args: Values<typeof settingFlags & typeof notifyBlockFlags>) {
  const quiet = args["quiet-hours"];
  const perMessage = args["notify-block-per-message-chars"];
  const total = args["notify-block-total-chars"];
  return {
    interval_seconds: toWholeNumber("interval-seconds", args["interval-seconds"], 1, 86_400),
    min_gap_seconds: toWholeNumber("min-gap-seconds", args["min-gap-seconds"], 0, 86_400),
    max_hops: toWholeNumber("max-hops", args["max-hops"], 0, 1000),
    max_wakes_per_hour: toWholeNumber("max-wakes-per-hour", args["max-wakes-per-hour"], 0, 3600),
    quiet_hours: quiet === undefined ? undefined : toQuietHours(quiet),
    mode: args.mode,
    appendix_text: args["appendix-text"],
    context_error_policy: args["context-error-policy"],
    pre_notification_context_action: args["pre-notification-context-action"],
    wake_policy: args["wake-policy"],
    require_attestation: args["require-attestation"],
    notify_block_render: args["notify-block-render"],
    notify_block_auth_mode: args["notify-block-auth-mode"],
    notify_block_auth_verifier: args["notify-block-auth-verifier"],
    notify_block_per_message_chars: toWholeNumber(
      "notify-block-per-message-chars",
      perMessage,
      1,
      noticeMaxChars,
    ),
    notify_block_total_chars: toWholeNumber("notify-block-total-chars", total, 0, 65_536),
  };
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

/** Tokens come from a file only: every process can read a command line. */
async function readTokens(
  path: string | undefined,
  files: Pick<Files, "readInput">,
  cwd: string,
): Promise<string[] | undefined> {
  if (path === undefined) return undefined;
  const text = await readFileFlag("notify-block-token-file", path, { files, cwd });
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/** Pure. */
function renderNotifier(status: NotifierStatus): string {
  const { quiet_hours: quiet } = status;
  return renderPairs([
    ["notifier", status.enabled ? `enabled, every ${status.interval_seconds} s` : "disabled"],
    ["supported", status.supported ? "yes" : `no: ${status.support_error}`],
    ["mode", status.mode],
    ["guidance", status.appendix_text === "" ? null : `${status.appendix_text.length} characters`],
    ["context error", status.context_error_policy],
    ["before a wake-up", status.pre_notification_context_action],
    ["notices", `${status.notify_block_render}, ${status.notify_block_auth_mode}`],
    ["verifier", status.notify_block_auth_verifier],
    ["wake policy", status.wake_policy],
    ["least gap", status.min_gap_seconds === 0 ? null : `${status.min_gap_seconds} s`],
    ["only verified mail", status.require_attestation === "verified" ? "yes" : null],
    ["most replies", status.max_hops === 0 ? null : `${status.max_hops} before a message that wakes`],
    ["most wake-ups", status.max_wakes_per_hour === 0 ? null : `${status.max_wakes_per_hour} an hour`],
    ["quiet hours", quiet && `${quiet.start}-${quiet.end} ${quiet.time_zone}`],
    ["last poll", status.last_poll_at_utc ?? "never"],
    ["last wake-up", status.last_notification_at_utc ?? "never"],
    ["last error", status.last_error],
  ]);
}
