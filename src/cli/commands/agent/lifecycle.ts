import { join } from "node:path";
import { type Attached, attachGateway } from "../../../services/fleet/attach-gateway.ts";
import { forgetAgent, planForgetting } from "../../../services/fleet/forget-agent.ts";
import { relaunchAgent } from "../../../services/fleet/relaunch-agent.ts";
import { environmentWithout } from "../../../services/sessions/environment.ts";
import { joinAgent } from "../../../services/sessions/join.ts";
import { sessionPaths } from "../../../services/sessions/roots.ts";
import { parseResume, type Resume } from "../../../services/sessions/tool-arguments.ts";
import { agentPane } from "../../../services/terminal/tmux/command.ts";
import { sessionOfPane } from "../../../services/terminal/tmux/screen.ts";
import { sleep } from "../../../system/clock.ts";
import { ServiceError } from "../../../system/errors.ts";
import { toLaunchAnswer, withNotifier } from "../../agent/launch-answer.ts";
import { openRecordTarget, openTarget, type Target, toCaller } from "../../agent/target.ts";
import { openCliContext, prepareSessionPlace } from "../../command-line/cli-context.ts";
import { type Answer, command, UsageError } from "../../command-line/command.ts";
import { confirmed } from "../../command-line/confirm.ts";
import { describeFailure } from "../../command-line/dispatch.ts";
import { narrate, warn } from "../../command-line/narrate.ts";
import { joinFlags, readJoinFlags } from "../../command-line/shared-flags.ts";
import { loadSignals } from "../../extensions.ts";
import { attachTerminal, stopNamed } from "../../operations/session.ts";
import { answerStopped } from "../work-answers.ts";

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
      withNotifier(
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
    "no-gateway": { type: "boolean", description: "start no gateway for an agent that was stopped" },
    "after-caller": { type: "boolean", hidden: true, description: "first wait until who called us has left" },
  },
  async run(invocation) {
    const { args, io } = invocation;
    const resume = parseResume(args["chat-session-mode"] as (typeof modes)[number], args["chat-session-id"]);
    const target = await openTarget(invocation);
    if (await runsInside(target)) {
      if (!args["after-caller"]) return leaveToAnother(target, args);
      await callerLeft(target);
    }
    await narrate(io, `launching ${target.agent.manifest.agent_name} again`);
    const launching = { ...target.context, planSignals: await loadSignals() };
    const relaunched = await relaunchAgent(launching, target.agent, {
      resume,
      reconcile: args.reconcile,
      gateway: !args["no-gateway"],
    });
    if (relaunched.missingVariables.length > 0) {
      await warn(io, `started without a value for: ${relaunched.missingVariables.join(", ")}`);
    }
    const { session, attached, inPlace, missingVariables } = relaunched;
    const answer = toLaunchAnswer({ context: target.context, io }, session, attached, null);
    return {
      ...answer,
      json: {
        ...(answer.json as object),
        in_place: inPlace,
        missing_variables: missingVariables,
        request_admission: attached?.link.status.request_admission ?? null,
      },
    };
  },
});

/** Whether we would end ourselves by ending what runs in the agent's pane. */
async function runsInside({ context, agent }: Target): Promise<boolean> {
  const { tmux, tmux_session_name: session } = agent.manifest;
  const pane = agentPane(await context.tmuxFor(tmux.socket).panes(session), tmux.primary_pane_id ?? null);
  const tree = pane ? await context.processes.tree(pane.panePid) : [];
  return tree.some(({ pid }) => pid === context.processes.selfPid());
}

/** Hands the work to a separate process, which outlives the agent that called us. */
function leaveToAnother(
  { context, agent }: Target,
  args: { "chat-session-mode": string; "chat-session-id": string | undefined; reconcile: boolean },
): Answer {
  const { logRoot } = sessionPaths(agent.sessionRoot);
  const logPath = join(logRoot, "relaunch.log");
  context.files.ensureDirectory("file:gateway-folder", logRoot);
  const id = args["chat-session-id"];
  context.processes.detach(
    "process:relaunch",
    [
      ...context.managerCommand,
      "agents",
      "single",
      "--agent-id",
      agent.manifest.agent_id,
      "relaunch",
      "--after-caller",
      "--chat-session-mode",
      args["chat-session-mode"],
      ...(id === undefined ? [] : ["--chat-session-id", id]),
      ...(args.reconcile ? ["--reconcile"] : []),
    ],
    { env: environmentWithout(context.env, []), cwd: agent.sessionRoot, logPath },
  );
  return {
    json: {
      agent_name: agent.manifest.agent_name,
      agent_id: agent.manifest.agent_id,
      handed_over: true,
      log: logPath,
    },
    text: `the relaunch goes on without this process; see ${logPath}`,
  };
}

const leaveWithinMs = 10_000;
const pollIntervalMs = 50;

async function callerLeft(target: Target): Promise<void> {
  const { clock } = target.context;
  const deadlineMs = clock.monotonicMs() + leaveWithinMs;
  while (await runsInside(target)) {
    if (clock.monotonicMs() >= deadlineMs) {
      throw new ServiceError("conflict", "timed out waiting for the caller to exit");
    }
    await sleep(clock, pollIntervalMs);
  }
}
