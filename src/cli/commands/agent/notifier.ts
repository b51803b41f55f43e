import { type NotifierStatus, NotifierUpdate } from "../../../protocol/notifier.ts";
import type { Advise } from "../../../protocol/remedy.ts";
import type { Files } from "../../../system/files.ts";
import { endpointCommand } from "../../agent/endpoint-command.ts";
import { toCaller } from "../../agent/target.ts";
import { openCliContext } from "../../command-line/cli-context.ts";
import { command, type Flags, UsageError } from "../../command-line/command.ts";
import { fieldFlags } from "../../command-line/field-flags.ts";
import { givenFields, readFileFlag } from "../../command-line/flag-values.ts";
import { renderPairs, renderTable } from "../../command-line/format.ts";
import { toKnownRemedy, withRemedy } from "../../command-line/remedies.ts";
import { enableNotifier } from "../../operations/notifier.ts";

const settings = fieldFlags(NotifierUpdate, {
  enabled: null,
  interval_seconds: { description: "look at the mailbox at least this often; 60 when never set" },
  appendix_text: { description: 'guidance for the round, part of every wake-up prompt; "" clears it' },
  notify_block_shared_tokens: null,
  quiet_hours: null,
});

/** Flags whose values are not those of one field. */
const otherFlags = {
  "quiet-hours": {
    type: "string",
    description: 'no wake-ups in these hours, such as "22:00-07:00 Europe/Berlin"; "" ends it',
    valueHint: "HH:MM-HH:MM [ZONE]",
  },
  "notify-block-token-file": {
    type: "string",
    description: "the shared tokens, one on each line; an empty file takes them all away",
    valueHint: "FILE",
  },
} as const satisfies Flags;

const status = endpointCommand("readNotifier", {
  name: "status",
  examples: ["svc-mgr agents single --agent-name worker gateway mail-notifier status"],
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
  args: { ...settings.flags, ...otherFlags },
  async run(invocation) {
    const { args, io, inherited } = invocation;
    const quiet = args["quiet-hours"];
    const fields = settings.read(args);
    const { files } = openCliContext(io, inherited);
    const others = givenFields({
      quiet_hours: quiet === undefined ? undefined : toQuietHours(quiet),
      notify_block_shared_tokens: await readTokens(args["notify-block-token-file"], files, io.cwd),
    });
    const json = await enableNotifier(toCaller(invocation), { ...fields, ...others });
    return { json, text: renderNotifier(json, io.advise) };
  },
});

const disable = endpointCommand("disableNotifier", {
  name: "disable",
  description: "wake the agent no more when mail arrives; its settings are kept",
  examples: ["svc-mgr agents single --agent-name worker gateway mail-notifier disable"],
  render: renderNotifier,
});

const audit = endpointCommand("notifierAudit", {
  name: "audit",
  examples: ["svc-mgr agents single --agent-name worker gateway mail-notifier audit --limit 20"],
  fields: { before: { valueHint: "ID" } },
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
        [row.enqueued_request_id, row.detail].filter(Boolean).join("; "),
      ]),
    );
    return next_before === null ? table : `${table}\nolder polls: --before ${next_before}`;
  },
});

export const notifierCommands = { status, enable, disable, audit };

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

/** Whether mail wakes the agent, and why not; null where it has no mailbox. Pure. */
export function wakesText(status: NotifierStatus): string | null {
  const { enabled, supported, wake_obstacles: obstacles } = status;
  if (obstacles === undefined || !(enabled || supported)) return null;
  if (obstacles.length === 0) return "wakes the agent";
  // No mail is nothing that a person would have to end.
  if (obstacles.every(({ reason }) => reason === "empty")) {
    return `wakes the agent; ${obstacles.map(({ detail }) => detail).join("; ")}`;
  }
  return `does not wake the agent: ${obstacles.map(({ detail }) => detail).join("; ")}`;
}

/** Pure. */
export function renderNotifier(status: NotifierStatus, advise: Advise): string {
  const { quiet_hours: quiet, support_error: error } = status;
  const remedy = toKnownRemedy(status.support_remedy);
  return renderPairs([
    ["notifier", status.enabled ? `enabled, every ${status.interval_seconds} s` : "disabled"],
    ["supported", error === null ? "yes" : `no: ${withRemedy(error, remedy, advise)}`],
    ["mail", wakesText(status)],
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
