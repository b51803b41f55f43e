import type { MailMessage, MailParticipant } from "../../protocol/mail.ts";
import { parseTimestamp } from "../../system/clock.ts";
import { widthOf } from "../../system/text-columns.ts";
import { visible, visibleLine } from "../../system/visible.ts";
import { ageText } from "../agent/snapshot-text.ts";
import { renderPairs, renderTable } from "../command-line/format.ts";

/** Mail for people. What others wrote is `visible`. All of it is pure. */

/**
 * Two lines a message: flags, time, sender and subject, cut to `columns`; then the reference that commands
 * take.
 */
export function renderMailList(
  list: { messages: readonly MailMessage[]; box: string; unread_count: number; next_cursor?: string | null },
  columns: number,
): string {
  const { messages } = list;
  if (messages.length === 0) return `no mail in ${list.box}`;
  const senders = messages.map(({ sender }) => visibleLine(sender.address));
  const senderWidth = Math.min(34, Math.max(4, ...senders.map((one) => Bun.stringWidth(one))));
  const row = (flags: string, time: string, sender: string, subject: string) =>
    cut(`${fill(flags, 3)}  ${fill(time, 16)}  ${fill(sender, senderWidth)}  ${subject}`, columns);
  const rows = messages.flatMap((message, at) => [
    row(flagsOf(message), shortTime(message.created_at_utc), senders[at] ?? "", visibleLine(message.subject)),
    `     ${visibleLine(message.message_ref)}${beside(attestationOf(message))}`,
  ]);
  const shown = messages.length === 1 ? "1 message" : `${messages.length} messages`;
  // Both counts are of this page.
  const count = list.next_cursor ? `${shown} shown` : shown;
  const more = list.next_cursor ? `\nmore with: --cursor ${visibleLine(list.next_cursor)}` : "";
  return [
    row("", "TIME (UTC)", "FROM", "SUBJECT"),
    ...rows,
    `${count} in ${visibleLine(list.box)}, ${list.unread_count} ${list.next_cursor ? "of them unread" : "unread"} (* unread, r answered, a archived, @ attachments)${more}`,
  ].join("\n");
}

/**
 * An inbox for who owns it: number, sender, age, note and subject of each message, newest first, cut to
 * `columns`. `unread`: how many of the whole inbox are.
 */
export function renderInbox(
  { messages, isAll, unread, open }: InboxView,
  { columns, nowMs }: { columns: number; nowMs: number },
): string {
  const header = ["NUMBER", "FROM", "SINCE", "NOTE"];
  const rows = messages.map((message) => {
    const sentMs = parseTimestamp(message.created_at_utc);
    return [
      message.number === undefined ? visibleLine(message.message_ref) : String(message.number),
      cut(visibleLine(message.sender.address), maxSenderColumns),
      sentMs === null ? "" : ageText(nowMs - sentMs),
      noteOf(message),
    ];
  });
  const room = columns - Math.max(...renderTable(header, rows).split("\n").map(widthOf)) - 2;
  const subjects = messages.map(({ subject }) => cut(visibleLine(subject), Math.max(room, leastSubject)));
  const table = renderTable(
    [...header, "SUBJECT"],
    rows.map((row, at) => [...row, subjects[at] ?? ""]),
  );
  const read = open - unread;
  const rest = isAll || read === 0 ? "" : `; ${read} read and not done: svc inbox --all`;
  if (messages.length === 0) return `${isAll ? "no mail" : "no unread mail"}${rest}`;
  return `${table}\n${unread} unread${rest}. Read one with: svc read NUMBER`;
}

interface InboxView {
  messages: readonly MailMessage[];
  /** Read ones too. */
  isAll: boolean;
  /** How many of the inbox are unread, and how many there are. */
  unread: number;
  open: number;
}

const maxSenderColumns = 30;
const leastSubject = 20;

function noteOf({ unread, answered, attestation }: MailMessage): string {
  const state = unread ? "unread" : answered ? "answered" : "read";
  return attestation === "broken" ? `${state}, signature broken` : state;
}

/** One message whole. */
export function renderMail(message: MailMessage): string {
  const head = renderPairs([
    ["from", nameOf(message.sender)],
    ["signature", attestationOf(message)],
    ["to", message.to.map(nameOf).join(", ")],
    ["cc", message.cc.map(nameOf).join(", ") || null],
    ["reply to", message.reply_to.map(nameOf).join(", ") || null],
    ["subject", visibleLine(message.subject)],
    ["time", message.created_at_utc],
    [
      "box",
      `${visibleLine(message.box)}${message.read ? "" : ", unread"}${message.answered ? ", answered" : ""}`,
    ],
    ...message.attachments.map(
      (one) =>
        [
          "attached",
          visibleLine(
            [one.label ?? one.attachment_id, one.media_type, one.locator ?? ""].join("  ").trimEnd(),
          ),
        ] as const,
    ),
    ["number", message.number],
    ["ref", visibleLine(message.message_ref)],
  ]);
  return `${head}\n\n${visible((message.body_text ?? message.body_preview).replace(/\r\n?/g, "\n"))}`;
}

/** What was changed, one message a line. */
export function renderChanged(what: string, messages: readonly MailMessage[]): string {
  return messages
    .map(
      (one) =>
        `${what}: ${visibleLine(one.subject)}  [${visibleLine(one.box)}]  ${visibleLine(one.message_ref)}`,
    )
    .join("\n");
}

/** What was sent, and its reference. */
export function renderSent(what: string, message: MailMessage): string {
  const to = [...message.to, ...message.cc].map(({ address }) => visibleLine(address)).join(", ");
  return `${what} to ${to}: ${visibleLine(message.subject)}\n  ${visibleLine(message.message_ref)}`;
}

function flagsOf({ unread, answered, archived, attachments }: MailMessage): string {
  return [
    unread ? "*" : "",
    answered ? "r" : "",
    archived ? "a" : "",
    attachments.length > 0 ? "@" : "",
  ].join("");
}

/** `verified`, `unsigned`, or `broken` with the reason; null where a gateway does not say. */
function attestationOf({ attestation, attestation_detail: why }: MailMessage): string | null {
  return attestation === undefined
    ? null
    : `${attestation}${why === undefined ? "" : `: ${visibleLine(why)}`}`;
}

const beside = (text: string | null) => (text === null ? "" : `  ${text}`);

/** The address is always there; a name that could be read as one is not. */
function nameOf({ address, display_name: name }: MailParticipant): string {
  return name && !/[@<>]/.test(name)
    ? `${visibleLine(name)} <${visibleLine(address)}>`
    : visibleLine(address);
}

/** `2026-11-21 08:15`. */
function shortTime(timestamp: string): string {
  return timestamp.slice(0, 16).replace("T", " ");
}

function fill(text: string, width: number): string {
  const cutText = cut(text, width);
  return cutText + " ".repeat(Math.max(0, width - Bun.stringWidth(cutText)));
}

/** At most `width` columns of a terminal; what is cut ends with an ellipsis. */
function cut(text: string, width: number): string {
  if (Bun.stringWidth(text) <= width) return text;
  let kept = "";
  let used = 0;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    const columns = Bun.stringWidth(segment);
    if (used + columns > width - 1) break;
    kept += segment;
    used += columns;
  }
  return `${kept}…`;
}
