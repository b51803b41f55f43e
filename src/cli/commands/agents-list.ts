import type { Advise } from "../../protocol/remedy.ts";
import { decideAttention } from "../../services/attention/decide.ts";
import type { PersonMail } from "../../services/attention/people-mail.ts";
import { type AgentSnapshot, snapshotAgents } from "../../services/fleet/agent-snapshot.ts";
import { findOrphans, type Orphan, orphanRemedy } from "../../services/sessions/orphans.ts";
import { createSessionsSeen } from "../../services/sessions/record.ts";
import { visibleLine } from "../../system/visible.ts";
import { factsIn, renderWaiting } from "../attention-text.ts";
import { openCliContext } from "../cli-context.ts";
import { command } from "../command.ts";
import { mailboxOpeners, openPeopleMail } from "../mailbox-openers.ts";
import { warn } from "../narrate.ts";
import { renderSnapshotTable, toSnapshotJson, toSnapshotNotes } from "../snapshot-text.ts";

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
        options: ["active", "stopped", "relaunching", "retired", "all"],
        description: "only agents whose record says so",
        default: "active",
      },
      names: { type: "boolean", description: "print only their names, a line for each, for scripts" },
    },
    async run({ args, inherited, io }) {
      const context = openCliContext(io, inherited);
      const { records, ignored } = context.registry.list();
      const wanted = records.filter(
        ({ lifecycle }) => args.state === "all" || lifecycle.state === args.state,
      );
      if (args.names) {
        const names = [...new Set(wanted.map(({ agent_name: name }) => name))];
        return { json: { agent_names: names }, text: names.join("\n") };
      }
      const openers = mailboxOpeners(context, (what) => void warn(io, what));
      // Asked while the agents are looked at.
      const lost = findOrphans({ ...context, runtimeRoot: context.roots.runtimeRoot }, records).catch(
        () => [],
      );
      let snapshots: AgentSnapshot[];
      let mail: PersonMail[];
      try {
        const sessionAlive = createSessionsSeen(context.tmuxFor);
        [snapshots, mail] = await Promise.all([
          snapshotAgents({ ...context, openers, sessionAlive }, wanted),
          openPeopleMail(
            context,
            (what) => void warn(io, what),
            () => records,
          ).unread(),
        ]);
      } finally {
        for (const opener of Object.values(openers)) opener.close();
      }
      const orphans = await lost;
      for (const orphan of orphans) {
        await warn(io, `${orphan.tmuxSession} has no record: ${orphanRemedy(context.tmux, orphan)}`);
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

const noAgents = "no agents run. Launch one with: svc-mgr agents launch --tool demo --agent-name first";

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
  const waiting = renderWaiting(decideAttention(advise, factsIn(snapshots), nowMs, mail));
  if (snapshots.length > 0) {
    const table = renderSnapshotTable(snapshots, nowMs, columns, advise);
    const notes = toSnapshotNotes(snapshots, advise);
    return [...waiting, ...table, ...(notes.length > 0 ? ["", ...notes] : [])].join("\n");
  }
  const none = state === "active" ? noAgents : "no such agents";
  const lost = `${orphans} run without a record that can be used, none with one`;
  return [...waiting, orphans > 0 ? lost : none].join("\n");
}
