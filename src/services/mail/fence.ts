/** Where a fenced block stands in a text, by lines from 0; `content` is what is between, as written. */
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
  /** Closed blocks that stand in no other, in order. */
  blocks: FencedBlock[];
  /** A fence is opened that nothing closes. */
  open: boolean;
}

const noticeInfo = "svc-notify";

/**
 * The text of the first non-empty `svc-notify` fence of a body, trimmed, or null. Its opener stands at the left
 * margin; fences inside other fences, and those that nothing closes, are none. Pure, never throws, linear in the
 * length of the body. Source: contract 4.1 mail rule 5; spec/mailbox-agui.md A4.
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
