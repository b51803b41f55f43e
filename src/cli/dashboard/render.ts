import type { AttentionItem } from "../../protocol/attention.ts";
import { parseTimestamp } from "../../system/clock.ts";
import { cutText, widthOf, wrapText } from "../../system/text-columns.ts";
import { visible, visibleCell, visibleLine } from "../../system/visible.ts";
import { ageText, lastTurnText } from "../agent/snapshot-text.ts";
import type { AgentRow } from "./agent-rows.ts";
import { textOf } from "./draft.ts";
import { type DashboardState, selectedRow, shownRows } from "./state.ts";

/** How a row is drawn where there are colours; without them the text alone says everything. */
export type RowStyle = "plain" | "bold" | "dim" | "selected" | "waits" | "failed";

export interface Row {
  text: string;
  style: RowStyle;
}

/** A whole screen: at most `rows` rows, none wider than `columns`, all of it visible text. */
export interface Frame {
  rows: readonly Row[];
  /** Where a person types, from 0; null hides it. */
  cursor: { row: number; column: number } | null;
}

interface Size {
  columns: number;
  rows: number;
}

/** The dashboard as it fits a terminal. `canType`: whether keys come from it. Pure. */
export function renderDashboard(
  state: DashboardState,
  { columns, rows, nowMs, canType }: Size & { nowMs: number; canType: boolean },
): Frame {
  const size = { columns, rows };
  if (state.mode.kind === "help")
    return toFrame([...helpRows(), row("any key goes back", "dim")], null, size);
  const input = inputOf(state, columns);
  const below = [...input.rows, row(keysLine(state, columns, canType), "dim")].slice(-Math.max(1, rows - 1));
  const heading = [row(titleOf(state), "bold"), ...unownedRows(state)].slice(
    0,
    Math.max(0, rows - below.length),
  );
  const left = rows - heading.length - below.length;
  const agents = shownRows(state);
  const details = detailRows(state, columns, nowMs);
  // A dialog needs its options more than the list of the others.
  const wanted =
    ["answer", "drop"].includes(state.mode.kind) || agents.length + 1 < left / 2 ? details.length : left / 2;
  const room = Math.max(0, Math.min(details.length, Math.floor(wanted), left - 3));
  const table = tableRows(state, agents, { columns, rows: left - room }, nowMs);
  const shownDetails = cutRows(details, room);
  const padding = Array.from({ length: Math.max(0, left - table.length - shownDetails.length) }, () =>
    row(""),
  );
  const above = [...heading, ...table, ...padding, ...shownDetails];
  const cursor = input.cursor && { ...input.cursor, row: above.length + input.cursor.row };
  return toFrame([...above, ...below], cursor, size);
}

const row = (text: string, style: RowStyle = "plain"): Row => ({ text, style });

function toFrame(rows: readonly Row[], cursor: Frame["cursor"], size: Size): Frame {
  const shown = rows
    .slice(0, size.rows)
    .map(({ text, style }) => ({ style, text: cutText(visibleCell(text), size.columns) }));
  const inside = cursor !== null && cursor.row < shown.length;
  return {
    rows: shown,
    cursor: inside ? { ...cursor, column: Math.min(cursor.column, size.columns - 1) } : null,
  };
}

/** The first of them, and how many more there are. */
function cutRows(rows: readonly Row[], max: number): readonly Row[] {
  if (rows.length <= max) return rows;
  const kept = rows.slice(0, Math.max(0, max - 1));
  return max === 0 ? [] : [...kept, row(`… ${rows.length - kept.length} more lines`, "dim")];
}

function titleOf(state: DashboardState): string {
  const { rows, filter, source, running, leaving } = state;
  const waiting = rows.filter(({ items }) => items.length > 0).length;
  const count = rows.length === 1 ? "1 agent" : `${rows.length} agents`;
  const parts = [
    state.loaded ? count : "looking at all agents",
    waiting === 0 ? "" : `${waiting} ${waiting === 1 ? "waits" : "wait"} for you`,
    filter === "" ? "" : `filter: ${filter}`,
    source === null ? "" : `through ${source}`,
    ...running.map(({ what }) => `${what} …`),
    leaving ? "leaves when that is done; q leaves now" : "",
  ];
  return parts.filter((part) => part !== "").join(", ");
}

function unownedRows({ advise, unowned }: DashboardState): Row[] {
  const [first, ...others] = unowned;
  if (!first) return [];
  const more = others.length === 0 ? "" : `, and ${others.length} more`;
  const { command } = advise({ code: "list_attention" });
  return [row(`${first.reason}${more}: ${command}`, "waits")];
}

const header = ["NAME", "TOOL", "STATE", "SINCE", "QUEUE", "MAIL", "LAST TURN"] as const;
/** Columns that are left out where the terminal is too narrow, the first one first. */
const dispensable = ["LAST TURN", "TOOL", "MAIL", "QUEUE", "SINCE"];
const maxNameColumns = 24;
/** What waits is worth so many columns before a further fact is. */
const reasonColumns = 20;

function tableRows(
  state: DashboardState,
  agents: readonly AgentRow[],
  { columns, rows }: Size,
  nowMs: number,
): Row[] {
  if (rows <= 0) return [];
  if (agents.length === 0) return cutRows([row(emptyText(state))], rows) as Row[];
  const cells = agents.map((agent) => cellsOf(agent, nowMs));
  const shown = chooseColumns(cells, columns);
  const lineOf = (line: readonly string[]) =>
    shown.map(({ index, width }) => padTo(line[index] ?? "", width)).join("  ");
  const waiting = agents.some(({ items }) => items.length > 0) ? "WAITS FOR YOU" : "";
  const head = rows > 2 ? [row(`  ${lineOf(header)}  ${waiting}`.trimEnd(), "dim")] : [];
  const lines = agents.map((agent, index) => {
    const selected = agent.id === state.selected;
    const text = `${selected ? ">" : " "} ${lineOf(cells[index] ?? [])}  ${reasonOf(agent)}`.trimEnd();
    const style = selected ? "selected" : agent.items.length > 0 ? "waits" : "plain";
    return row(text, style);
  });
  const place = agents.findIndex(({ id }) => id === state.selected);
  return [...head, ...scroll(lines, place, rows - head.length)];
}

function emptyText({ advise, loaded, rows }: DashboardState): string {
  if (!loaded) return "";
  if (rows.length > 0) return "no agent matches the filter";
  return `no agents run. Start one: ${advise({ code: "launch_demo" }).command}`;
}

/** The rows around `place`; the last one says how many do not fit. */
function scroll(lines: readonly Row[], place: number, room: number): readonly Row[] {
  if (lines.length <= room) return lines;
  const visibleCount = Math.max(1, room - 1);
  const first = Math.min(Math.max(0, place - Math.floor(visibleCount / 2)), lines.length - visibleCount);
  const shown = lines.slice(first, first + visibleCount);
  return room < 2
    ? shown
    : [...shown, row(`  ${first + 1} to ${first + shown.length} of ${lines.length}`, "dim")];
}

function cellsOf(agent: AgentRow, nowMs: number): string[] {
  const { name, tool, state, sinceMs, queue, mail, lastTurn } = agent;
  return [
    cutText(visibleCell(name), maxNameColumns),
    visibleCell(tool),
    state,
    sinceMs === null ? "" : ageText(nowMs - sinceMs),
    queue,
    mail,
    lastTurn === null ? "-" : lastTurnText(lastTurn, nowMs),
  ];
}

function chooseColumns(lines: readonly string[][], columns: number): { index: number; width: number }[] {
  const all = header.map((title, index) => ({
    title,
    index,
    width: Math.max(widthOf(title), ...lines.map((line) => widthOf(line[index] ?? ""))),
  }));
  const spent = (some: typeof all) => some.reduce((sum, { width }) => sum + width + 2, 2);
  let shown = all;
  for (const name of dispensable) {
    if (spent(shown) + reasonColumns <= columns) break;
    shown = shown.filter(({ title }) => title !== name);
  }
  return shown;
}

const padTo = (text: string, width: number) => text + " ".repeat(Math.max(0, width - widthOf(text)));

/** The first thing that waits, without the name, which is in the row. */
function reasonOf({ name, items }: AgentRow): string {
  const [first] = items;
  if (!first) return "";
  const more = items.length > 1 ? ` (and ${items.length - 1} more)` : "";
  return `${withoutName(first.reason, name)}${more}`;
}

function withoutName(reason: string, name: string): string {
  const quoted = `"${name}" `;
  return reason.startsWith(quoted) ? reason.slice(quoted.length) : reason;
}

const maxReasonRows = 4;

/** What waits at the selected agent and how it is answered. */
function detailRows(state: DashboardState, columns: number, nowMs: number): Row[] {
  const selected = selectedRow(state);
  if (!selected) return [];
  const { name, items, problem } = selected;
  const wrapped = (text: string, style: RowStyle) =>
    wrapText(visibleLine(text), columns)
      .slice(0, maxReasonRows)
      .map((line) => row(line, style));
  if (state.mode.kind === "confirm_stop") return [];
  if (state.mode.kind === "drop") return waitingRows(state.mode, columns);
  if (items.length === 0 && problem === null) return [];
  const rule = row(`── ${name} ${"─".repeat(Math.max(0, columns - widthOf(name) - 4))}`, "dim");
  if (problem !== null) return [rule, ...wrapped(problem, "failed")];
  const one = state.mode.kind === "answer" ? [state.mode.item] : items;
  return [rule, ...one.flatMap((item) => itemRows(item, nowMs, wrapped))];
}

/** As many as there are digits. */
const maxDropped = 9;

function waitingRows({ agent, waiting }: DashboardState["mode"] & { kind: "drop" }, columns: number): Row[] {
  if (waiting === null) return [];
  const rule = row(`── ${agent.name} ${"─".repeat(Math.max(0, columns - widthOf(agent.name) - 4))}`, "dim");
  const rows = waiting
    .slice(0, maxDropped)
    .map(({ from, text }, at) => row(`  ${at + 1}. ${visibleLine(text)} (from ${visibleLine(from)})`));
  const more = waiting.length - rows.length;
  return [rule, ...rows, ...(more > 0 ? [row(`  … ${more} more`, "dim")] : [])];
}

function itemRows(
  { reason, since_utc: since, answers, evidence, next, command }: AttentionItem,
  nowMs: number,
  wrapped: (text: string, style: RowStyle) => Row[],
): Row[] {
  const sinceMs = since === null ? null : parseTimestamp(since);
  const age = sinceMs === null ? "" : ` (${ageText(nowMs - sinceMs)})`;
  const asked = wrapped(`${reason}${age}`, "waits");
  if (answers.length > 0) {
    return [
      ...asked,
      ...answers.flatMap(({ answer, label, description }) => [
        row(`  ${answer}. ${label}`),
        ...(description === undefined ? [] : [row(`     ${visibleLine(description)}`, "dim")]),
      ]),
    ];
  }
  const todo = command === null ? next : `${next}: ${command}`;
  return [...asked, ...evidence.map((one) => row(`  ${visibleLine(one)}`, "dim")), row(`  ${todo}`)];
}

const maxDraftRows = 6;

/** The line that a person types in, a question to them, or what happened last. */
function inputOf(state: DashboardState, columns: number): Frame {
  const { mode, notice } = state;
  switch (mode.kind) {
    case "prompt":
    case "filter": {
      const label = mode.kind === "filter" ? "filter: " : `prompt ${mode.agent.name}: `;
      // One column stays free for the cursor behind the last character.
      const wrap = (text: string) => wrapText(label + visible(text), Math.max(1, columns - 1));
      const beforeCursor = wrap(mode.draft.before);
      const all = wrap(textOf(mode.draft));
      const end = Math.max(beforeCursor.length, Math.min(all.length, maxDraftRows));
      const first = Math.max(0, end - maxDraftRows);
      return {
        rows: all.slice(first, end).map((line) => row(line)),
        cursor: { row: beforeCursor.length - 1 - first, column: widthOf(beforeCursor.at(-1) ?? "") },
      };
    }
    case "confirm_stop": {
      const text = `Stop "${mode.agent.name}" and its gateway? [y/N] `;
      return { rows: [row(text, "waits")], cursor: { row: 0, column: widthOf(text) } };
    }
    case "drop": {
      const { name } = mode.agent;
      const text =
        mode.waiting === null
          ? `looking at what waits for "${name}"`
          : `withdraw a prompt of "${name}" with a digit; Escape leaves all`;
      return { rows: [row(text, "waits")], cursor: null };
    }
    case "answer":
      return {
        rows: [row(`answer "${mode.agent.name}" with a digit; Escape leaves it open`, "waits")],
        cursor: null,
      };
    case "list":
    case "help":
      if (!notice) return { rows: [row("")], cursor: null };
      return {
        rows: [row(visibleLine(notice.text), notice.failed ? "failed" : "plain")],
        cursor: null,
      };
  }
}

function keysLine({ mode }: DashboardState, columns: number, canType: boolean): string {
  if (!canType) return "no keys: standard input is no terminal; Ctrl-C ends";
  const keys = keysOf(mode.kind);
  const line = () => keys.join("  ");
  // How to select is the first that a person finds without being shown; help and the way to leave stay.
  if (widthOf(line()) > columns && keys.length > alwaysShown) keys.shift();
  while (widthOf(line()) > columns && keys.length > alwaysShown) keys.splice(-alwaysShown - 1, 1);
  return line();
}

const alwaysShown = 2;

function keysOf(kind: DashboardState["mode"]["kind"]): string[] {
  switch (kind) {
    case "prompt":
      return ["Enter send", "Ctrl-J new line", "Escape leave it"];
    case "filter":
      return ["Enter keep", "Escape show all"];
    case "answer":
      return ["1-9 answer", "Escape leave it open"];
    case "confirm_stop":
      return ["y stop", "any other key: no"];
    case "drop":
      return ["1-9 withdraw", "Escape leave all"];
    case "list":
    case "help":
      return [
        "j/k select",
        "Enter attach",
        "p prompt",
        "a answer",
        "d drop",
        "i interrupt",
        "s stop",
        "/ filter",
        "? help",
        "q quit",
      ];
  }
}

const help: readonly (readonly [string, string])[] = [
  ["j k, arrows", "select an agent; g and G the first and the last one"],
  ["Enter", "show its terminal; Ctrl-b d comes back, Ctrl-b L from within its tmux server"],
  ["p", "give it a prompt; it is typed when the agent can begin a turn"],
  ["a", "answer its question with a digit"],
  ["d", "show what waits for it, and withdraw one with a digit"],
  ["i", "interrupt its turn"],
  ["s", "stop it, after a question"],
  ["/", "show only agents with these words in name, tool, state or what waits"],
  ["Ctrl-L", "draw the screen again"],
  ["q, Ctrl-C", "leave; agents go on"],
];

function helpRows(): Row[] {
  const width = Math.max(...help.map(([key]) => widthOf(key)));
  return [row("keys", "bold"), ...help.map(([key, what]) => row(`  ${padTo(key, width)}  ${what}`)), row("")];
}
