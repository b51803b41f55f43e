import type { Advise } from "../../protocol/remedy.ts";
import { decideAttention } from "../../services/attention/decide.ts";
import type { Orphan } from "../../services/sessions/orphans.ts";
import { visibleLine } from "../../system/visible.ts";
import { factsIn, renderWaiting } from "../agent/attention-text.ts";
import { orphanText, renderSnapshotTable, toSnapshotJson, toSnapshotNotes } from "../agent/snapshot-text.ts";
import { type Answer, type Caller, command } from "../command-line/command.ts";
import { warn } from "../command-line/narrate.ts";
import { withRemedy } from "../command-line/remedies.ts";
import {
  type ListedAgents,
  type ListedState,
  listAgentNames,
  listAgents,
  listedStates,
} from "../operations/fleet.ts";

/** The command `list` of the group or program that `commandPrefix` names. */
export const listCommand = (commandPrefix: string) =>
  command({
    name: "list",
    description: "list the agents of this user, a line for each",
    examples: [
      `${commandPrefix} list`,
      `${commandPrefix} list --state all --json`,
      `${commandPrefix} list --names`,
    ],
    args: {
      state: {
        type: "enum",
        options: listedStates,
        description: "only agents whose record says so",
        default: "active",
      },
      names: { type: "boolean", description: "print only their names, a line for each, for scripts" },
    },
    async run({ args, inherited, io }) {
      if (args.names) {
        const names = listAgentNames({ io, inherited }, args.state);
        return { json: { agent_names: names }, text: names.join("\n") };
      }
      return answerList({ io, inherited }, args.state, ({ snapshots, nowMs, columns }) =>
        renderSnapshotTable(snapshots, nowMs, columns, io.advise),
      );
    },
  });

/** What a table of agents is made of. */
export interface ListedTable extends Pick<ListedAgents, "context" | "snapshots" | "mail"> {
  nowMs: number;
  columns: number;
}

/** What waits for a person, and below it the agents as `renderTable` shows them. */
export async function answerList(
  { io, inherited }: Caller,
  state: ListedState,
  renderTable: (listed: ListedTable) => string[],
): Promise<Answer> {
  const { context, snapshots, mail, orphans, ignored } = await listAgents({ io, inherited }, state);
  for (const orphan of orphans) {
    await warn(io, `${orphan.tmuxSession} has no record: ${orphanText(context, io.advise, orphan)}`);
  }
  for (const { path, problem } of ignored) await warn(io, visibleLine(`ignored ${path}: ${problem}`));
  const nowMs = context.clock.nowMs();
  const columns = io.stdoutIsTty ? io.columns : Number.POSITIVE_INFINITY;
  const waiting = renderWaiting(decideAttention(io.advise, factsIn(snapshots), nowMs, mail), io.advise);
  const notes = toSnapshotNotes(snapshots, io.advise);
  const isTable = inherited["json"] !== true && snapshots.length > 0;
  const below = isTable
    ? [
        ...renderTable({ context, snapshots, mail, nowMs, columns }),
        ...(notes.length > 0 ? ["", ...notes] : []),
      ]
    : [describeNone(state, orphans.length, io.advise)];
  return {
    json: {
      agents: snapshots.map((snapshot) => toSnapshotJson(snapshot, io.advise)),
      ignored,
      orphans: orphans.map(toOrphanJson),
    },
    text: [...waiting, ...below].join("\n"),
  };
}

function toOrphanJson({ tmuxSession, sessionRoot, agentName, manifest, problem }: Orphan) {
  return {
    tmux_session_name: tmuxSession,
    session_root: sessionRoot,
    agent_name: agentName,
    agent_id: manifest?.agent_id ?? null,
    problem,
  };
}

function describeNone(state: ListedState, orphans: number, advise: Advise): string {
  if (orphans > 0) return `${orphans} run without a record that can be used, none with one`;
  return state === "active" ? withRemedy("no agents run", { code: "launch_demo" }, advise) : "no such agents";
}
