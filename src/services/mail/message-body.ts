import {
  type NotifyAuth,
  type NotifyBlock,
  type NotifyBlockInput,
  noticeMaxChars,
} from "../../protocol/mail.ts";
import { invalidField } from "./draft.ts";

/**
 * The notice of a message and the body that carries it: the caller's block, else the first fence of the body.
 * A block that the body lacks is written into it, so that a reader of the mail sees what the recipient was
 * shown. Throws `invalid_request` for a blank notice or one with NUL. Pure. Source: contract 2.5, 4.1 mail
 * rule 5.
 */
export function withNotice(
  body: string,
  given: NotifyBlockInput | null | undefined,
): { body: string; notifyBlock: NotifyBlock | null } {
  if (!given) {
    const text = extractNotice(body);
    return { body, notifyBlock: text === null ? null : { text: clipNotice(text), placement: "append" } };
  }
  const text = given.text.replace(/\r\n?/g, "\n").trim().toWellFormed();
  if (text === "" || text.includes("\0")) {
    throw invalidField(["notify_block", "text"], "must hold text, without NUL");
  }
  const notifyBlock: NotifyBlock = { text: clipNotice(text), placement: given.placement ?? "append" };
  return { body: mirrorNotice(body, notifyBlock.text, notifyBlock.placement), notifyBlock };
}

/**
 * At most 512 characters (code points); of a longer text the first 511 and an ellipsis (contract 8). Pure.
 */
export function clipNotice(text: string, maxChars = noticeMaxChars): string {
  if (text.length <= maxChars) return text;
  // As many characters as that take twice as many code units at most.
  const characters = [...text.slice(0, 2 * maxChars + 1)];
  return characters.length <= maxChars ? text : `${characters.slice(0, maxChars - 1).join("")}…`;
}

/** Only `none` can be verified so far (contract 4.1 mail rule 6). Throws `invalid_request`. Pure. */
export function checkedAuth(given: NotifyAuth | null | undefined): NotifyAuth | null {
  if (given && given.scheme !== "none") {
    throw invalidField(["notify_auth", "scheme"], "verifier not yet supported");
  }
  return given ?? null;
}

/** The lines of a fenced block in a text, from 0; `content` is the text between its marks. */
interface FencedBlock {
  info: string;
  /** At the left margin, with backticks: the only place where a notice is looked for. */
  marginal: boolean;
  content: string;
}

interface FenceLine {
  mark: "`" | "~";
  length: number;
  indented: boolean;
  info: string;
}

interface Fences {
  /** Closed blocks that are not inside another, in order. */
  blocks: FencedBlock[];
  /** A fence is opened that nothing closes. */
  open: boolean;
}

const noticeInfo = "svc-notify";

/**
 * The text of the first non-empty `svc-notify` fence of a body, trimmed, or null. Its opener is at the left
 * margin; fences inside other fences, and those that nothing closes, are none. Pure, never throws, linear in
 * the length of the body. Source: contract 4.1 mail rule 5; spec/mailbox-agui.md A4.
 */
export function extractNotice(body: string): string | null {
  for (const block of findFences(body).blocks) {
    if (!block.marginal || block.info !== noticeInfo) continue;
    const text = block.content.trim();
    if (text !== "") return text;
  }
  return null;
}

/**
 * The body with `text` in a `svc-notify` fence, unless it holds a non-empty one already. The fence goes where
 * `placement` says; in front also where a fence that nothing closes would swallow it. Pure.
 */
export function mirrorNotice(body: string, text: string, placement: "append" | "prepend"): string {
  if (extractNotice(body) !== null) return body;
  const marks = "`".repeat(Math.max(3, longestRun(text, "`") + 1));
  const fence = `${marks}${noticeInfo}\n${text}\n${marks}`;
  if (body.trim() === "") return fence;
  const prepend = placement === "prepend" || findFences(body).open;
  return prepend ? `${fence}\n\n${body}` : `${withoutLastNewlines(body)}\n\n${fence}`;
}

/** The one parser of fences, by whole lines. An opener that nothing closes is a line like any other. */
function findFences(text: string): Fences {
  if (!/```|~~~/.test(text)) return { blocks: [], open: false };
  const lines = text.split("\n").map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
  const marks = lines.map(toFenceLine);
  const closable = closersBehind(marks);
  const blocks: FencedBlock[] = [];
  let open = false;
  for (let at = 0; at < lines.length; at++) {
    const opener = marks[at];
    if (!opener) continue;
    if (opener.length > (closable[opener.mark][at + 1] ?? 0)) {
      open = true;
      continue;
    }
    const first = at + 1;
    do at++;
    while (!closes(marks[at], opener));
    blocks.push({
      info: opener.info,
      marginal: opener.mark === "`" && !opener.indented,
      content: lines.slice(first, at).join("\n"),
    });
  }
  return { blocks, open };
}

const fencePattern = /^( {0,3})(`{3,}|~{3,})(.*)$/;

function toFenceLine(line: string): FenceLine | null {
  const [, indent = "", run = "", rest = ""] = fencePattern.exec(line) ?? [];
  if (run === "") return null;
  const mark = run.startsWith("`") ? "`" : "~";
  if (mark === "`" && rest.includes("`")) return null;
  return { mark, length: run.length, indented: indent !== "", info: rest.trim() };
}

function closes(line: FenceLine | null | undefined, opener: FenceLine): boolean {
  return line?.mark === opener.mark && line.info === "" && line.length >= opener.length;
}

/** For each line and mark the longest fence that could close one there or below. */
function closersBehind(marks: readonly (FenceLine | null)[]): Record<FenceLine["mark"], number[]> {
  const longest = { "`": new Array<number>(marks.length + 1), "~": new Array<number>(marks.length + 1) };
  const seen = { "`": 0, "~": 0 };
  for (let at = marks.length; at >= 0; at--) {
    const line = marks[at];
    if (line?.info === "") seen[line.mark] = Math.max(seen[line.mark], line.length);
    longest["`"][at] = seen["`"];
    longest["~"][at] = seen["~"];
  }
  return longest;
}

function longestRun(text: string, mark: string): number {
  let longest = 0;
  let run = 0;
  for (const character of text) {
    run = character === mark ? run + 1 : 0;
    longest = Math.max(longest, run);
  }
  return longest;
}

function withoutLastNewlines(text: string): string {
  let end = text.length;
  while (end > 0 && (text[end - 1] === "\n" || text[end - 1] === "\r")) end--;
  return text.slice(0, end);
}

const maxChars = 240;

/** The beginning of a body on one line. Source: spec/mailbox-agui.md A9. Pure. */
export function previewOf(body: string): string {
  // Enough of it: a long body is not rewritten for its first line, and most texts hold few spaces in a row.
  let line = onOneLine(body.slice(0, 2 * maxChars));
  if (line.length <= maxChars && body.length > 2 * maxChars) line = onOneLine(body.slice(0, 16 * maxChars));
  if (line.length <= maxChars) return line;
  return `${line.slice(0, maxChars - 3).replace(/[\ud800-\udbff]$/, "")}...`;
}

function onOneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
