import { type Advise, addSentence } from "../../protocol/remedy.ts";
import { type AgentSnapshot, maxUnread } from "../../services/fleet/fleet-list.ts";
import { type Orphan, orphanRemedies } from "../../services/sessions/orphans.ts";
import type { Tmux } from "../../services/terminal/tmux/command.ts";
import { parseTimestamp } from "../../system/clock.ts";
import { renderTable } from "../command-line/format.ts";
import { toClause, toSentence } from "../command-line/remedies.ts";

const snapshotHeader = [
  "NAME",
  "ID",
  "TOOL",
  "STATE",
  "AVAILABILITY",
  "TURN",
  "QUEUE",
  "MAIL",
  "LAST TURN",
  "GATEWAY",
] as const;

/** One agent for `--json`. Pure. */
export function toSnapshotJson(snapshot: AgentSnapshot, advise: Advise) {
  const { record, gone, answered, state, gatewayBaseUrl, queueDepth, unreadMail, problem } = snapshot;
  const { workingDirectory } = snapshot;
  return {
    agent_name: record.agent_name,
    agent_id: record.agent_id,
    tool: record.identity.tool,
    backend: record.identity.backend,
    lifecycle_state: record.lifecycle.state,
    session_gone: gone,
    availability: state?.availability ?? "unavailable",
    turn_phase: state?.turn.phase ?? "unknown",
    queue_depth: queueDepth,
    unread_mail: unreadMail,
    last_turn: {
      result: state?.last_turn.result ?? "unknown",
      updated_at_utc: state?.last_turn.updated_at_utc ?? null,
    },
    answered,
    gateway_base_url: gatewayBaseUrl,
    tmux_session_name: record.terminal.current_session_name ?? null,
    working_directory: workingDirectory,
    manifest_path: record.runtime.manifest_path,
    session_root: record.runtime.session_root ?? null,
    team: record.team ?? null,
    problem: problem && problemText(problem, advise),
  };
}

/** What keeps an agent from working, and what to do. Pure. */
export function problemText(
  { detail, remedy }: NonNullable<AgentSnapshot["problem"]>,
  advise: Advise,
): string {
  return remedy === null ? detail : addSentence(detail, toSentence(advise(remedy)));
}

/** One agent as cells under `snapshotHeader`; `?` where it did not answer in time. Pure. */
export function toSnapshotCells(snapshot: AgentSnapshot, nowMs: number, advise: Advise): string[] {
  const row = toSnapshotJson(snapshot, advise);
  const known = (text: string) => (snapshot.answered ? text : "?");
  return [
    row.agent_name,
    row.agent_id,
    row.tool,
    row.session_gone ? "gone" : row.lifecycle_state,
    known(row.availability),
    known(row.turn_phase),
    known(row.queue_depth === null ? "-" : String(row.queue_depth)),
    known(unreadText(row.unread_mail)),
    known(lastTurnText(row.last_turn, nowMs)),
    row.gateway_base_url ?? problemCell(row.problem),
  ];
}

/** A line for each agent that needs a hand. Pure. */
export function toSnapshotNotes(snapshots: readonly AgentSnapshot[], advise: Advise): string[] {
  return snapshots.flatMap(({ record, answered, problem }) =>
    answered && problem !== null ? [`${record.agent_name}: ${problemText(problem, advise)}`] : [],
  );
}

const problemCellLength = 30;

/** A longer one is a separate note. */
function problemCell(problem: string | null): string {
  if (problem === null) return "-";
  return problem.length <= problemCellLength ? problem : "see doctor";
}

/** Unread messages as a cell. Pure. */
export function unreadText(unread: number | null): string {
  if (unread === null) return "-";
  return unread < maxUnread ? String(unread) : `${maxUnread}+`;
}

export interface LastTurn {
  result: string;
  updated_at_utc: string | null;
}

/** How the last turn ended and how long ago, as a cell. Pure. */
export function lastTurnText(last: LastTurn, nowMs: number): string {
  if (last.result === "none" || last.result === "unknown") return "-";
  const atMs = last.updated_at_utc === null ? null : parseTimestamp(last.updated_at_utc);
  return atMs === null ? last.result : `${last.result} ${ageText(nowMs - atMs)}`;
}

/** A span of time in its largest whole unit, as `12s` or `3h`. Pure. */
export function ageText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}

/** Columns that are left out where the terminal is too narrow, the first one first. */
const dispensable = ["ID", "GATEWAY", "TOOL", "LAST TURN", "STATE"] as const;

/** The table of all agents, without the columns for which lines of `columns` have no room. Pure. */
export function renderSnapshotTable(
  snapshots: readonly AgentSnapshot[],
  nowMs: number,
  columns: number,
  advise: Advise,
): string[] {
  const all = [[...snapshotHeader], ...snapshots.map((snapshot) => toSnapshotCells(snapshot, nowMs, advise))];
  const left = new Set<string>();
  const table = () => {
    const cells = all.map((row) => row.filter((_, index) => !left.has(snapshotHeader[index] ?? "")));
    return renderTable(cells[0] ?? [], cells.slice(1)).split("\n");
  };
  let lines = table();
  for (const name of dispensable) {
    if (lines.every((line) => line.length <= columns)) break;
    left.add(name);
    lines = table();
  }
  return lines;
}

/** What to do about an orphan, as a clause. Pure. */
export function orphanText({ tmux }: { tmux: Pick<Tmux, "socket"> }, advise: Advise, orphan: Orphan): string {
  const ways = orphanRemedies(tmux, orphan).map((remedy) => toClause(advise(remedy)));
  return `${orphan.state === "refused" ? `${orphan.problem}; then ` : ""}${ways.join(", or ")}`;
}
