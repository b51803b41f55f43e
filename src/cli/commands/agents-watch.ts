import type { AgentSnapshot } from "../../services/fleet/agent-snapshot.ts";
import type { FleetChange } from "../../services/fleet/fleet-watch.ts";
import { aborted, sleep, timestampNow } from "../../system/clock.ts";
import { visibleCell } from "../../system/visible.ts";
import { type CliContext, openCliContext } from "../cli-context.ts";
import { type CliIo, command } from "../command.ts";
import { exitCodes } from "../dispatch.ts";
import { followFleet } from "../follow-fleet.ts";
import { renderSnapshotScreen, toSnapshotJson } from "../snapshot-text.ts";

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
