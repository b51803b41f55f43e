import { decideAttention } from "../../services/attention/decide.ts";
import type { PersonMail } from "../../services/attention/people-mail.ts";
import { type AgentSnapshot, snapshotAgents } from "../../services/fleet/agent-snapshot.ts";
import type { FleetChange } from "../../services/fleet/fleet-watch.ts";
import { findOrphans, type Orphan, orphanRemedy } from "../../services/sessions/orphans.ts";
import { createSessionsSeen } from "../../services/sessions/record.ts";
import { sleep, timestampNow } from "../../system/clock.ts";
import { visibleCell } from "../../system/visible.ts";
import { factsIn, renderWaiting } from "../attention-text.ts";
import { type CliContext, openCliContext } from "../cli-context.ts";
import { type CliIo, command } from "../command.ts";
import { exitCodes } from "../dispatch.ts";
import { aborted, followFleet } from "../follow-fleet.ts";
import { mailboxOpeners, openPeopleMail } from "../mailbox-openers.ts";
import { warn } from "../narrate.ts";
import {
  renderSnapshotScreen,
  renderSnapshotTable,
  toSnapshotJson,
  toSnapshotNotes,
} from "../snapshot-text.ts";

/** The command `list` of the group or program that `commandPrefix` names. */
export const listCommand = (commandPrefix: string) =>
  command({
    name: "list",
    description: "list the agents of this user, a line for each",
    examples: [`${commandPrefix} list`, `${commandPrefix} list --state all --json`],
    args: {
      state: {
        type: "enum",
        options: ["active", "stopped", "relaunching", "retired", "all"],
        description: "only agents whose record says so",
        default: "active",
      },
    },
    async run({ args, inherited, io }) {
      const context = openCliContext(io, inherited);
      const { records, ignored } = context.registry.list();
      const wanted = records.filter(
        ({ lifecycle }) => args.state === "all" || lifecycle.state === args.state,
      );
      const openers = mailboxOpeners(context, (what) => void warn(io, what));
      let snapshots: AgentSnapshot[];
      let mail: PersonMail[];
      try {
        const sessionAlive = createSessionsSeen(context.tmuxFor);
        [snapshots, mail] = await Promise.all([
          snapshotAgents({ ...context, openers, sessionAlive }, wanted),
          openPeopleMail(context, (what) => void warn(io, what)).unread(),
        ]);
      } finally {
        for (const opener of Object.values(openers)) opener.close();
      }
      const orphans = await findOrphans(
        { ...context, runtimeRoot: context.roots.runtimeRoot },
        records,
      ).catch(() => []);
      for (const orphan of orphans) {
        await warn(io, `${orphan.tmuxSession} has no record: ${orphanRemedy(context.tmux, orphan)}`);
      }
      for (const { path, problem } of ignored) await warn(io, `ignored ${path}: ${problem}`);
      return {
        json: { agents: snapshots.map(toSnapshotJson), ignored, orphans: orphans.map(toOrphanJson) },
        text: toText(snapshots, mail, {
          ...{ state: args.state, orphans: orphans.length, nowMs: context.clock.nowMs() },
          columns: io.stdoutIsTty ? io.columns : Number.POSITIVE_INFINITY,
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
  { state, orphans, nowMs, columns }: { state: string; orphans: number; nowMs: number; columns: number },
): string {
  const waiting = renderWaiting(decideAttention(factsIn(snapshots), nowMs, mail));
  if (snapshots.length > 0) {
    const table = renderSnapshotTable(snapshots, nowMs, columns);
    const notes = toSnapshotNotes(snapshots);
    return [...waiting, ...table, ...(notes.length > 0 ? ["", ...notes] : [])].join("\n");
  }
  const none = state === "active" ? noAgents : "no such agents";
  const lost = `${orphans} run without a record that can be used, none with one`;
  return [...waiting, orphans > 0 ? lost : none].join("\n");
}

export const watchCommand = command({
  name: "watch",
  description:
    "show all agents that run as they change, until interrupted: a live table, or JSON lines off a terminal",
  examples: ["svc-mgr agents watch", "svc-mgr agents watch --json"],
  async run({ io, inherited }) {
    const context = openCliContext(io, inherited);
    const stopped = io.unheard();
    const view =
      io.stdoutIsTty && inherited["json"] !== true ? createTable(io, context) : createLines(io, context);
    try {
      await view.open();
      await followFleet({
        ...{ context, io, stopped, shown: view.keepCurrent(stopped) },
        onChange: (change) => view.show(change),
        onSource: view.fedBy,
      });
    } finally {
      await view.close();
    }
    return exitCodes.done;
  },
});

interface View {
  open(): Promise<void>;
  show(change: FleetChange): Promise<void>;
  fedBy(coordinator: string | null): void;
  /** Resolves when `stopped` aborts. */
  keepCurrent(stopped: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

function createLines(io: CliIo, { clock }: CliContext): View {
  const tell = async (change: string, snapshots: readonly AgentSnapshot[]) => {
    for (const snapshot of snapshots) {
      const line = { at_utc: timestampNow(clock), change, agent: toSnapshotJson(snapshot) };
      await io.writeOut(`${JSON.stringify(line)}\n`);
    }
  };
  return {
    open: async () => {},
    async show({ appeared, changed, gone }) {
      await tell("appeared", appeared);
      await tell("changed", changed);
      await tell("gone", gone);
    },
    fedBy: () => {},
    keepCurrent: (stopped) => aborted(stopped),
    close: async () => {},
  };
}

const otherScreen = "\x1b[?1049h\x1b[?25l";
const ownScreen = "\x1b[?25h\x1b[?1049l";
/** How long ago a turn was is drawn again. */
const redrawMs = 1000;

function createTable(io: CliIo, { clock }: CliContext): View {
  let snapshots: readonly AgentSnapshot[] = [];
  let source = "";
  const render = (rows: number) => {
    const count = snapshots.length === 1 ? "1 agent" : `${snapshots.length} agents`;
    const title = `${count}${source}, Ctrl-C ends`;
    return renderSnapshotScreen({ title, snapshots, nowMs: clock.nowMs(), columns: io.columns, rows });
  };
  // Each line is cleared to its end and the rest of the screen below: nothing flickers.
  const draw = () => {
    const lines = render(io.rows).map((line) => `${visibleCell(line)}\x1b[K`);
    return io.writeScreen("stdout", `\x1b[H${lines.join("\r\n")}\x1b[J`);
  };
  return {
    open: () => io.writeScreen("stdout", otherScreen),
    async show(change) {
      snapshots = change.snapshots;
      await draw();
    },
    fedBy(coordinator) {
      source = coordinator === null ? "" : ` through ${coordinator}`;
    },
    async keepCurrent(stopped) {
      while (!stopped.aborted) {
        await sleep(clock, redrawMs, stopped);
        if (!stopped.aborted) await draw();
      }
    },
    // What was last seen stays where the person goes on.
    async close() {
      await io.writeScreen("stdout", ownScreen);
      await io.writeOut(`${render(Number.POSITIVE_INFINITY).slice(1).join("\n")}\n`);
    },
  };
}
