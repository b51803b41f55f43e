import { type Attached, attachGateway } from "../../../services/fleet/attach-gateway.ts";
import { forgetAgent, planForgetting } from "../../../services/fleet/forget-agent.ts";
import { joinAgent } from "../../../services/sessions/join.ts";
import { parseResume, type Resume } from "../../../services/sessions/tool-arguments.ts";
import { sessionOfPane } from "../../../services/terminal/tmux/screen.ts";
import { ServiceError } from "../../../system/errors.ts";
import { toLaunchAnswer, withKeptNotifier } from "../../agent/launch-answer.ts";
import { openRecordTarget, toCaller } from "../../agent/target.ts";
import { openCliContext, prepareSessionPlace } from "../../command-line/cli-context.ts";
import { command, UsageError } from "../../command-line/command.ts";
import { confirmed } from "../../command-line/confirm.ts";
import { describeFailure } from "../../command-line/dispatch.ts";
import { joinFlags, readJoinFlags } from "../../command-line/shared-flags.ts";
import { relaunchNamed } from "../../operations/relaunch.ts";
import { attachTerminal, stopNamed } from "../../operations/session.ts";
import { answerRelaunched, answerStopped } from "../work-answers.ts";

const stop = command({
  name: "stop",
  description:
    "end the gateway, the agent's processes and its tmux session; of a joined agent the session stays",
  examples: ["svc-mgr agents single --agent-name worker stop"],
  async run(invocation) {
    return answerStopped(await stopNamed(toCaller(invocation)));
  },
});

const attach = command({
  name: "attach",
  description: "show the agent's tmux session in this terminal until you leave it (Ctrl-b d)",
  examples: ["svc-mgr agents single --agent-name worker attach"],
  run: (invocation) => attachTerminal(toCaller(invocation)),
});

const cleanup = command({
  name: "cleanup",
  description:
    "remove what an agent that has ended left: its record, its prompts, turns and logs; never mail",
  examples: [
    "svc-mgr agents single --agent-name worker cleanup --dry-run",
    "svc-mgr agents single --agent-name worker cleanup --yes",
  ],
  args: {
    "dry-run": { type: "boolean", description: "say what would be removed and change nothing" },
    yes: { type: "boolean", description: "do not ask at the terminal" },
  },
  async run(invocation) {
    const { args, io } = invocation;
    const { context, record } = await openRecordTarget(invocation);
    const left = await planForgetting(context, record);
    const { agent_name, agent_id } = record;
    const answer = { agent_name, agent_id, session_root: left.sessionRoot };
    if (args["dry-run"]) {
      const what = left.sessionRoot ?? "no folder, only its record";
      return { json: { ...answer, removed: false }, text: `would remove "${agent_name}": ${what}` };
    }
    await confirmed(io, `Remove all that "${agent_name}" left, its prompts and turns included?`, args.yes);
    if (!(await forgetAgent(context, left))) {
      throw new ServiceError("conflict", `"${agent_name}" was launched again meanwhile; nothing was removed`);
    }
    return { json: { ...answer, removed: true }, text: `removed what "${agent_name}" left` };
  },
});

const plainTurns = {
  displayStyle: "plain",
  displayDetail: "concise",
  model: undefined,
  reasoningLevel: undefined,
};

const joinCommand = command({
  name: "join",
  description: "adopt the agent that runs in window 0 of this tmux session, and start its gateway",
  examples: [
    "svc-mgr agents self join --agent-name worker",
    "svc-mgr agents self join --agent-name worker --launch-args=--model --launch-args=sonnet",
    "svc-mgr agents self join --agent-name batch --headless --tool claude",
  ],
  args: {
    "agent-name": {
      type: "string",
      required: true,
      description: "how the agent is called",
      valueHint: "NAME",
    },
    ...joinFlags,
    background: { type: "boolean", description: "run the gateway as a separate process, without a window" },
    headless: {
      type: "boolean",
      description:
        "run turns of --tool in that window, which must be idle; its shell ends with the first turn",
    },
    "resume-id": {
      type: "string",
      description: "with --headless: the conversation to go on with, last or an id; default: a new one",
      valueHint: "last|ID",
    },
    "no-gateway": { type: "boolean", description: "start no gateway" },
  },
  async run({ args, inherited, io }) {
    const context = openCliContext(io, inherited);
    const pane = io.env["TMUX_PANE"];
    if (!pane)
      throw new ServiceError(
        "precondition_failed",
        `this is not a pane of tmux: TMUX_PANE is not set. From elsewhere, name its session: svc-gateway join --tmux-session SESSION --agent-name ${args["agent-name"]}`,
      );
    const { paneTmux: tmux } = context;
    await prepareSessionPlace(context, io);
    const session = await joinAgent(
      { ...context, tmux },
      {
        ...readJoinFlags(args, io),
        agentName: args["agent-name"],
        headless: args.headless ? plainTurns : undefined,
        resume: toResume(args["resume-id"], args.headless),
        tmuxSession: await sessionOfPane(tmux, pane),
      },
    );
    const complete = (attached: Attached | null, error: string | null) =>
      withKeptNotifier(
        toLaunchAnswer({ context, io }, session, attached, error),
        args["agent-name"],
        session.notifier,
      );
    if (args["no-gateway"]) return complete(null, null);
    try {
      const executionMode = args.background ? "detached_process" : "tmux_auxiliary_window";
      return complete(await attachGateway(context, session, { executionMode }), null);
    } catch (error) {
      return complete(null, describeFailure(error, io.advise).detail);
    }
  },
});

export const lifecycleCommands = { attach, stop, cleanup, join: joinCommand };

function toResume(id: string | undefined, headless: boolean): Resume | undefined {
  if (id === undefined) return undefined;
  if (!headless) throw new UsageError("--resume-id needs --headless: a terminal agent runs already");
  return id === "last" ? { mode: "tool_last_or_new" } : parseResume("exact", id);
}

const modes = ["new", "tool_last_or_new", "exact"] as const;

export const relaunchCommand = command({
  name: "relaunch",
  description:
    "start the agent's program again: in its pane while it runs, in a new tmux session when stopped",
  examples: [
    "svc-mgr agents single --agent-name worker relaunch",
    "svc-mgr agents single --agent-name worker relaunch --chat-session-mode tool_last_or_new --reconcile",
  ],
  args: {
    "chat-session-mode": {
      type: "enum",
      options: [...modes],
      description: "which of the tool's conversations it goes on with",
      default: "new",
    },
    "chat-session-id": { type: "string", description: "the conversation, for mode exact", valueHint: "ID" },
    reconcile: {
      type: "boolean",
      description: "work with the new instance although requests wait for the old one: these fail",
    },
    "keep-requests": {
      type: "boolean",
      description: "work with the new instance, which is given the requests that wait for the old one",
    },
    "no-gateway": { type: "boolean", description: "start no gateway for an agent that was stopped" },
    "after-caller": { type: "boolean", hidden: true, description: "first wait until who called us has left" },
  },
  async run(invocation) {
    const { args, io } = invocation;
    if (args.reconcile && args["keep-requests"])
      throw new UsageError("give --reconcile or --keep-requests, not both", invocation.path);
    const relaunched = await relaunchNamed(toCaller(invocation), {
      conversation: parseResume(args["chat-session-mode"] as (typeof modes)[number], args["chat-session-id"]),
      waiting: args["keep-requests"] ? "keep" : args.reconcile ? "drop" : null,
      isServed: !args["no-gateway"],
      isAfterCaller: args["after-caller"],
    });
    return answerRelaunched(io, relaunched);
  },
});
