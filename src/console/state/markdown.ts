/**
 * The Markdown that models write, as a tree: the console makes elements of it, never HTML text. What is not
 * understood is text. Pure, linear in the length of the text.
 */
export type Inline =
  | { kind: "text"; text: string }
  | { kind: "code"; text: string }
  | { kind: "strong" | "emphasis"; content: Inline[] }
  | { kind: "link"; href: string; content: Inline[] };

export type Block =
  | { kind: "paragraph"; content: Inline[] }
  | { kind: "heading"; level: number; content: Inline[] }
  | { kind: "code"; language: string; text: string }
  | { kind: "quote"; blocks: Block[] }
  | { kind: "list"; ordered: boolean; start: number; items: Inline[][] }
  | { kind: "table"; head: Inline[][]; rows: Inline[][][] }
  | { kind: "rule" };

const fence = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)/;
// No two neighbours of these patterns match the same character: a line that nearly fits takes no longer than
// another.
const heading = /^ {0,3}(#{1,6})\s(.*)$/s;
const bullet = /^(\s*)(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/s;
const rule = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const tableCell = /^:?-+:?$/;
/** Deeper quotes are shown as text: the tree of what others wrote has a bounded depth. */
const maxDepth = 8;

export function parseMarkdown(source: string, depth = 0): Block[] {
  const lines = source.replaceAll("\r\n", "\n").split("\n");
  const blocks: Block[] = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at] ?? "";
    const opened = fence.exec(line);
    const titled = heading.exec(line);
    if (line.trim() === "") at += 1;
    else if (opened) at = readFence(lines, at, opened, blocks);
    else if (titled) {
      blocks.push({
        kind: "heading",
        level: titled[1]?.length ?? 1,
        content: parseInline(titleOf(titled[2] ?? "")),
      });
      at += 1;
    } else if (rule.test(line)) {
      blocks.push({ kind: "rule" });
      at += 1;
    } else if (/^ {0,3}>/.test(line) && depth < maxDepth) at = readQuote(lines, at, blocks, depth);
    else if (bullet.test(line)) at = readList(lines, at, blocks);
    else if (line.includes("|") && isTableRule(lines[at + 1] ?? "")) at = readTable(lines, at, blocks);
    else at = readParagraph(lines, at, blocks);
  }
  return blocks;
}

/** A heading without the marks that may close it. */
function titleOf(text: string): string {
  const trimmed = text.trim();
  let end = trimmed.length;
  while (trimmed[end - 1] === "#") end -= 1;
  return trimmed.slice(0, end).trimEnd();
}

const isTableRule = (line: string): boolean => cellsOf(line).every((cell) => tableCell.test(cell));

/** The trimmed cells of a line of a table, whose outermost bars may be left out. */
const cellsOf = (line: string): string[] =>
  line
    .trim()
    .replace(/^\||\|$/g, "")
    .split("|")
    .map((cell) => cell.trim());

function readFence(lines: string[], from: number, opened: RegExpExecArray, blocks: Block[]): number {
  const mark = opened[1] ?? "```";
  const closes = (line: string) =>
    line.trim().startsWith(mark) && line.trim().replaceAll(mark[0] ?? "`", "") === "";
  let end = from + 1;
  while (end < lines.length && !closes(lines[end] ?? "")) end += 1;
  blocks.push({ kind: "code", language: opened[2] ?? "", text: lines.slice(from + 1, end).join("\n") });
  return end + 1;
}

function readQuote(lines: string[], from: number, blocks: Block[], depth: number): number {
  let end = from;
  while (/^ {0,3}>/.test(lines[end] ?? "")) end += 1;
  const inner = lines.slice(from, end).map((line) => line.replace(/^ {0,3}> ?/, ""));
  blocks.push({ kind: "quote", blocks: parseMarkdown(inner.join("\n"), depth + 1) });
  return end;
}

function readList(lines: string[], from: number, blocks: Block[]): number {
  const number = bullet.exec(lines[from] ?? "")?.[2];
  const items: string[] = [];
  let at = from;
  for (; at < lines.length; at++) {
    const line = lines[at] ?? "";
    const next = bullet.exec(line);
    if (next) items.push(`${"  ".repeat(Math.floor((next[1]?.length ?? 0) / 2))}${next[3] ?? ""}`);
    else if (/^\s{2,}\S/.test(line)) items.push(`${items.pop() ?? ""} ${line.trim()}`);
    else break;
  }
  const content = items.map((item) => parseInline(item.trim()));
  blocks.push({ kind: "list", ordered: number !== undefined, start: Number(number ?? 1), items: content });
  return at;
}

function readTable(lines: string[], from: number, blocks: Block[]): number {
  const cells = (line: string) => cellsOf(line).map((cell) => parseInline(cell));
  let end = from + 2;
  while ((lines[end] ?? "").includes("|")) end += 1;
  blocks.push({ kind: "table", head: cells(lines[from] ?? ""), rows: lines.slice(from + 2, end).map(cells) });
  return end;
}

function readParagraph(lines: string[], from: number, blocks: Block[]): number {
  let end = from + 1;
  while (end < lines.length && !beginsBlock(lines[end] ?? "")) end += 1;
  blocks.push({ kind: "paragraph", content: parseInline(lines.slice(from, end).join("\n")) });
  return end;
}

const beginsBlock = (line: string): boolean =>
  line.trim() === "" || [fence, heading, bullet, rule].some((one) => one.test(line)) || /^ {0,3}>/.test(line);

const inline =
  /(`+)|\*\*(\S(?:[^*]*\S)?)\*\*|(?<![\w*])[*_](\S(?:[^*_\n]*\S)?)[*_](?![\w*])|\[([^[\]\n]{1,1000})\]\(([^)\s]{1,2000})\)|(https?:\/\/[^\s<>)"'\]]+)/g;

export function parseInline(text: string, depth = 0): Inline[] {
  const out: Inline[] = [];
  const plain = (part: string) => {
    if (part !== "") out.push({ kind: "text", text: part });
  };
  if (depth >= maxDepth) return [{ kind: "text", text }];
  const closing = closingMarks(text);
  const pattern = new RegExp(inline);
  let at = 0;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    plain(text.slice(at, match.index));
    at = pattern.lastIndex;
    const [whole, marks, strong, emphasis, label, href, bare] = match;
    const closed = marks === undefined ? null : closing(at, marks.length);
    if (closed !== null) {
      out.push({ kind: "code", text: text.slice(at, closed).trim() });
      at = pattern.lastIndex = closed + whole.length;
    } else if (strong !== undefined) out.push({ kind: "strong", content: parseInline(strong, depth + 1) });
    else if (emphasis !== undefined)
      out.push({ kind: "emphasis", content: parseInline(emphasis, depth + 1) });
    else if (label !== undefined && href !== undefined && isSafeLink(href))
      out.push({ kind: "link", href, content: parseInline(label, depth + 1) });
    else if (bare !== undefined)
      out.push({ kind: "link", href: bare, content: [{ kind: "text", text: bare }] });
    else plain(whole);
  }
  plain(text.slice(at));
  return out;
}

/**
 * Finds the next run of exactly so many backticks, at `from` or later; null when there is none. Each run is
 * passed once for all questions, which must be asked in the order of the text.
 */
function closingMarks(text: string): (from: number, length: number) => number | null {
  const runs = new Map<number, number[]>();
  for (const { 0: run, index } of text.matchAll(/`+/g)) {
    const places = runs.get(run.length) ?? [];
    runs.set(run.length, places);
    places.push(index);
  }
  const next = new Map<number, number>();
  return (from, length) => {
    const places = runs.get(length) ?? [];
    let nth = next.get(length) ?? 0;
    while ((places[nth] ?? from) < from) nth += 1;
    next.set(length, nth);
    return places[nth] ?? null;
  };
}

/** Only pages: an address of another scheme, such as a script, stays text. */
const isSafeLink = (href: string): boolean => /^https?:\/\//i.test(href);
