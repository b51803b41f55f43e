import { openRecordOrNull } from "../../services/sessions/find.ts";
import { sessionPaths } from "../../services/sessions/roots.ts";
import { readLastPrompt } from "../../services/status/project.ts";
import { parseTimestamp } from "../../system/clock.ts";
import { cutText, widthOf } from "../../system/text-columns.ts";
import { visibleLine } from "../../system/visible.ts";
import { ageText } from "../agent/snapshot-text.ts";
import type { CliContext } from "../command-line/cli-context.ts";
import type { Answer, Caller } from "../command-line/command.ts";
import { renderTable } from "../command-line/format.ts";
import { answerList } from "../commands/agents-list.ts";
import { type AgentRow, toAgentRows } from "../dashboard/agent-rows.ts";

/** One agent as `svc` lists it. */
interface ListedRow
  extends Pick<AgentRow, "name" | "tool" | "state" | "sinceMs" | "queue" | "mail" | "lastTurn"> {
  folder: string | null;
  /** The newest one that svc was given; null without one. */
  prompt: string | null;
}

/** The agents that run, as `svc` and `svc ls` show them. */
export function answerShortList(caller: Caller): Promise<Answer> {
  return answerList(caller, "active", ({ context, snapshots, mail, nowMs, columns }) => {
    const { advise, home } = caller.io;
    const { rows } = toAgentRows({ advise, snapshots, mail, phases: new Map(), stopping: new Set() }, nowMs);
    const byId = new Map(snapshots.map((one) => [one.record.agent_id, one]));
    const listed = rows.map((row): ListedRow => {
      const snapshot = byId.get(row.id);
      return {
        ...row,
        folder: snapshot?.workingDirectory ?? null,
        prompt: snapshot ? lastPromptOf(context, snapshot.record) : null,
      };
    });
    return renderAgentList(listed, { nowMs, columns, home });
  });
}

/** Null where its queue cannot be read. */
function lastPromptOf({ files }: CliContext, record: Parameters<typeof openRecordOrNull>[1]): string | null {
  const agent = openRecordOrNull(files, record);
  if (agent === null) return null;
  const { queue } = sessionPaths(agent.sessionRoot);
  try {
    return readLastPrompt(files, queue);
  } catch {
    return null;
  }
}

const header = ["NAME", "TOOL", "STATE", "SINCE", "QUEUE", "MAIL", "FOLDER", "LAST PROMPT"] as const;
type Column = (typeof header)[number];

/** Left out where the terminal is too narrow, the first one first. */
const dispensable: readonly Column[] = ["TOOL", "MAIL", "LAST PROMPT", "FOLDER", "QUEUE", "SINCE"];
/** A prompt is cut to the columns that remain, but no shorter. */
const leastPromptColumns = 16;
const maxPromptColumns = 60;

/** The table of `svc`, in lines of at most `columns` where that can be. Pure. */
export function renderAgentList(
  rows: readonly ListedRow[],
  { nowMs, columns, home }: { nowMs: number; columns: number; home: string },
): string[] {
  const left = new Set<Column>();
  const table = (promptColumns: number) => {
    const kept = header.filter((column) => !left.has(column));
    const cells = rows.map((row) => {
      const all = cellsOf(row, { nowMs, home, promptColumns });
      return kept.map((column) => all[column]);
    });
    return renderTable(kept, cells).split("\n");
  };
  const widest = (lines: readonly string[]) => Math.max(...lines.map((line) => widthOf(line)));
  for (;;) {
    const least = widest(table(leastPromptColumns));
    const promptColumns = Math.min(maxPromptColumns, leastPromptColumns + Math.max(0, columns - least));
    const next = dispensable.find((column) => !left.has(column));
    if (least <= columns || next === undefined) return table(promptColumns);
    left.add(next);
  }
}

function cellsOf(
  { name, tool, state, sinceMs, queue, mail, lastTurn, folder, prompt }: ListedRow,
  { nowMs, home, promptColumns }: { nowMs: number; home: string; promptColumns: number },
): Record<Column, string> {
  // An agent at rest has been so since its last turn.
  const endedMs =
    lastTurn?.updated_at_utc && state === "ready" ? parseTimestamp(lastTurn.updated_at_utc) : null;
  const atMs = sinceMs ?? endedMs;
  return {
    NAME: name,
    TOOL: tool,
    STATE: state,
    SINCE: atMs === null ? "-" : ageText(nowMs - atMs),
    QUEUE: queue,
    MAIL: mail,
    FOLDER: folder === null ? "-" : toTilde(folder, home),
    "LAST PROMPT": prompt === null ? "-" : cutText(visibleLine(prompt), promptColumns),
  };
}

function toTilde(folder: string, home: string): string {
  if (folder === home) return "~";
  return folder.startsWith(`${home}/`) ? `~${folder.slice(home.length)}` : folder;
}
