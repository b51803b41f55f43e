import type { Advise } from "../../protocol/remedy.ts";
import { decideAttention } from "../../services/attention/decide.ts";
import type { PersonMail } from "../../services/attention/people-mail.ts";
import type { AgentSnapshot } from "../../services/fleet/fleet-list.ts";
import type { Orphan } from "../../services/sessions/orphans.ts";
import { visibleLine } from "../../system/visible.ts";
import { factsIn, renderWaiting } from "../agent/attention-text.ts";
import { orphanText, renderSnapshotTable, toSnapshotJson, toSnapshotNotes } from "../agent/snapshot-text.ts";
import { command } from "../command-line/command.ts";
import { warn } from "../command-line/narrate.ts";
import { withRemedy } from "../command-line/remedies.ts";
import { listAgentNames, listAgents, listedStates } from "../operations/fleet.ts";

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
      const { context, snapshots, mail, orphans, ignored } = await listAgents({ io, inherited }, args.state);
      for (const orphan of orphans) {
        await warn(io, `${orphan.tmuxSession} has no record: ${orphanText(context, io.advise, orphan)}`);
      }
      for (const { path, problem } of ignored) await warn(io, visibleLine(`ignored ${path}: ${problem}`));
      return {
        json: {
          agents: snapshots.map((snapshot) => toSnapshotJson(snapshot, io.advise)),
          ignored,
          orphans: orphans.map(toOrphanJson),
        },
        text: toText(snapshots, mail, {
          state: args.state,
          orphans: orphans.length,
          nowMs: context.clock.nowMs(),
          columns: io.stdoutIsTty ? io.columns : Number.POSITIVE_INFINITY,
          advise: io.advise,
        }),
      };
    },
  });

function toOrphanJson({ tmuxSession, sessionRoot, agentName, manifest, problem }: Orphan) {
  return {
    tmux_session_name: tmuxSession,
    session_root: sessionRoot,
    agent_name: agentName,
    agent_id: manifest?.agent_id ?? null,
    problem,
  };
}

function toText(
  snapshots: readonly AgentSnapshot[],
  mail: readonly PersonMail[],
  {
    state,
    orphans,
    nowMs,
    columns,
    advise,
  }: { state: string; orphans: number; nowMs: number; columns: number; advise: Advise },
): string {
  const waiting = renderWaiting(decideAttention(advise, factsIn(snapshots), nowMs, mail), advise);
  if (snapshots.length > 0) {
    const table = renderSnapshotTable(snapshots, nowMs, columns, advise);
    const notes = toSnapshotNotes(snapshots, advise);
    return [...waiting, ...table, ...(notes.length > 0 ? ["", ...notes] : [])].join("\n");
  }
  const none =
    state === "active" ? withRemedy("no agents run", { code: "launch_demo" }, advise) : "no such agents";
  const lost = `${orphans} run without a record that can be used, none with one`;
  return [...waiting, orphans > 0 ? lost : none].join("\n");
}
