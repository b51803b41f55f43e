import type { AgentSnapshot } from "../../services/fleet/agent-snapshot.ts";
import { aborted, timestampNow } from "../../system/clock.ts";
import { runCaptured } from "../captured-run.ts";
import { type CliContext, openCliContext } from "../cli-context.ts";
import { type CliIo, type Command, command, type Invocation } from "../command.ts";
import { type CommandOutcome, runDashboard } from "../dashboard/run.ts";
import { createDashboardTerminal } from "../dashboard/terminal.ts";
import { exitCodes } from "../dispatch.ts";
import { followFleet } from "../follow-fleet.ts";
import { openPeopleMail } from "../mailbox-openers.ts";
import { warn } from "../narrate.ts";
import { renderSnapshotTable, toSnapshotJson } from "../snapshot-text.ts";

/** `commands`: all of `svc-mgr`; the keys of the dashboard are command lines of it. */
export const watchCommand = (commands: () => Promise<Command>) =>
  command({
    name: "watch",
    description:
      "watch all agents that run and work with them by keys (? lists them); off a terminal a JSON line for each change",
    examples: ["svc-mgr agents watch", "svc-mgr agents watch --json"],
    async run(invocation) {
      const { io, inherited } = invocation;
      const context = openCliContext(io, inherited);
      const stopped = io.unheard();
      if (io.stdoutIsTty && inherited["json"] !== true) {
        await watchByKeys(invocation as unknown as Invocation, { context, commands, stopped });
      } else {
        await printChanges(io, context, stopped);
      }
      return exitCodes.done;
    },
  });

async function watchByKeys(
  invocation: Invocation,
  {
    context,
    commands,
    stopped,
  }: { context: CliContext; commands: () => Promise<Command>; stopped: AbortSignal },
): Promise<void> {
  const { io } = invocation;
  const run = async (words: readonly string[], atTerminal: boolean) =>
    toOutcome(await runCaptured(invocation, await commands(), words, { interrupted: stopped, atTerminal }));
  // Written to the terminal a warning would break the picture.
  let onWarning = (_text: string) => {};
  const people = openPeopleMail(context, (what) => onWarning(what));
  const snapshots = await runDashboard(
    {
      clock: context.clock,
      terminal: createDashboardTerminal(io),
      follow(on, ended) {
        onWarning = on.warning;
        return followFleet({
          context,
          onWarning,
          stopped: ended,
          shown: aborted(ended),
          onSource: on.source,
          onChange: async (change) => on.change(change.snapshots),
        });
      },
      unreadMail: () => people.unread(),
      run: (words) => run(words, false),
      runAtTerminal: (words) => run(words, true),
    },
    stopped,
  );
  // What was last seen stays where the person goes on.
  const table = renderSnapshotTable(snapshots, context.clock.nowMs(), io.columns, io.advise);
  await io.writeOut(snapshots.length === 0 ? "no agents run\n" : `${table.join("\n")}\n`);
}

/** The first line that a command wrote, or its refusal. */
function toOutcome({ exitCode, stdout, stderr }: Awaited<ReturnType<typeof runCaptured>>): CommandOutcome {
  const failed = exitCode !== exitCodes.done;
  const [line = ""] = stdout.trim().split("\n");
  if (!failed) return { failed, text: line };
  const refusal = stderr.trim().replace(/^Error: /m, "");
  return { failed, text: refusal || line || "the command failed" };
}

async function printChanges(io: CliIo, context: CliContext, stopped: AbortSignal): Promise<void> {
  const print = async (change: string, snapshots: readonly AgentSnapshot[]) => {
    for (const snapshot of snapshots) {
      const line = {
        at_utc: timestampNow(context.clock),
        change,
        agent: toSnapshotJson(snapshot, io.advise),
      };
      await io.writeOut(`${JSON.stringify(line)}\n`);
    }
  };
  await followFleet({
    context,
    stopped,
    shown: aborted(stopped),
    onWarning: (text) => void warn(io, text),
    async onChange({ appeared, changed, gone }) {
      await print("appeared", appeared);
      await print("changed", changed);
      await print("gone", gone);
    },
  });
}
