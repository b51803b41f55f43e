import type { AgentSnapshot } from "../../services/fleet/fleet-list.ts";
import { aborted, timestampNow } from "../../system/clock.ts";
import { quotedLine } from "../../system/visible.ts";
import { fromText, textOfPrompt } from "../agent/agent-requests.ts";
import { followFleet } from "../agent/follow-fleet.ts";
import { renderSnapshotTable, toSnapshotJson } from "../agent/snapshot-text.ts";
import { type CliContext, openCliContext } from "../command-line/cli-context.ts";
import { type Caller, type CliIo, command } from "../command-line/command.ts";
import { exitCodes } from "../command-line/dispatch.ts";
import { openPeopleMail } from "../command-line/mailbox-openers.ts";
import { warn } from "../command-line/narrate.ts";
import { inShortTerms } from "../command-line/short-remedies.ts";
import { type CommandOutcome, runDashboard } from "../dashboard/run.ts";
import type { DashboardAction } from "../dashboard/state.ts";
import { createDashboardTerminal } from "../dashboard/terminal.ts";
import { answerQuestion } from "../operations/attention.ts";
import { outcomeOf, withoutTerminal } from "../operations/outcome.ts";
import { interruptTurn, submitPrompt } from "../operations/prompt.ts";
import { listWaiting, withdrawPrompts } from "../operations/queue.ts";
import { attachTerminal, stopNamed } from "../operations/session.ts";

export default command({
  name: "watch",
  description:
    "watch all agents that run and work with them by keys (? lists them); off a terminal a JSON line for each change",
  examples: ["svc-mgr agents watch", "svc-mgr agents watch --json"],
  async run({ io, inherited }) {
    const context = openCliContext(io, inherited);
    const stopped = io.unheard();
    if (io.stdoutIsTty && inherited["json"] !== true) {
      await watchByKeys({ io, inherited }, context, stopped);
    } else {
      await printChanges(io, context, stopped);
    }
    return exitCodes.done;
  },
});

async function watchByKeys(
  { io, inherited }: Caller,
  context: CliContext,
  stopped: AbortSignal,
): Promise<void> {
  const signals = { interrupted: () => stopped, unheard: () => stopped };
  // Its keys are command lines of `svc`, whichever program shows it.
  const caller: Caller = { io: withoutTerminal(inShortTerms(io), signals), inherited };
  const atTerminal = withoutTerminal(io, { ...signals, stdoutIsTty: true, stdinIsTty: true });
  // Written to the terminal a warning would break the picture.
  let onWarning = (_text: string) => {};
  const people = openPeopleMail(context, (what) => onWarning(what));
  const snapshots = await runDashboard(
    {
      clock: context.clock,
      advise: caller.io.advise,
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
      run: (action) => reported(caller.io, () => perform(caller, action)),
      async readQueue(agentId) {
        const read = await outcomeOf(() => listWaiting({ ...caller, whom: { agentId } }), caller.io.advise);
        if (!read.ok) return read.detail;
        return read.value.requests
          .filter(({ request_kind: kind }) => kind !== "interrupt")
          .map((one) => ({
            requestId: one.request_id,
            from: fromText(one),
            text: textOfPrompt(one),
          }));
      },
      attach: (agentId) =>
        reported(caller.io, async () => {
          const exitCode = await attachTerminal({ ...caller, io: atTerminal, whom: { agentId } });
          return exitCode === exitCodes.done ? done("") : { failed: true, text: "the command failed" };
        }),
    },
    stopped,
  );
  // What was last seen stays where the person goes on.
  const table = renderSnapshotTable(snapshots, context.clock.nowMs(), io.columns, io.advise);
  await io.writeOut(snapshots.length === 0 ? "no agents run\n" : `${table.join("\n")}\n`);
}

/** Characters of a prompt in a notice. */
const maxQuoted = 60;

const done = (text: string): CommandOutcome => ({ failed: false, text });

async function perform(caller: Caller, action: DashboardAction): Promise<CommandOutcome> {
  switch (action.do) {
    case "prompt": {
      const { agentId, prompt } = action;
      const { accepted } = await submitPrompt({ ...caller, whom: { agentId } }, { prompt });
      return done(`accepted ${accepted.request_id} (${accepted.queue_depth} in the queue)`);
    }
    case "interrupt": {
      const { failed, detail } = await interruptTurn({ ...caller, whom: { agentId: action.agentId } });
      return { failed, text: detail };
    }
    case "withdraw": {
      const whom = { agentId: action.agentId };
      const { withdrawn, refused } = await withdrawPrompts({ ...caller, whom }, [action.requestId]);
      const [why] = refused;
      if (why !== undefined) return { failed: true, text: why.detail };
      const text = withdrawn.map(textOfPrompt).join(", ");
      return done(`withdrew ${quotedLine(text, maxQuoted)}`);
    }
    case "stop": {
      const { success, detail } = await stopNamed({ ...caller, whom: { agentId: action.agentId } });
      return { failed: !success, text: detail.split("\n")[0] ?? "" };
    }
    case "answer": {
      const { id, answer, epoch } = action;
      const given = { id, answer, ...(epoch === null ? {} : { epoch }) };
      const { answer: chosen } = await answerQuestion(caller, given);
      return done(`answered ${chosen.answer}. ${chosen.label}`);
    }
  }
}

/** A refusal as one sentence. */
async function reported(
  { advise }: Pick<CliIo, "advise">,
  operation: () => Promise<CommandOutcome>,
): Promise<CommandOutcome> {
  const outcome = await outcomeOf(operation, advise);
  return outcome.ok ? outcome.value : { failed: true, text: outcome.detail };
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
