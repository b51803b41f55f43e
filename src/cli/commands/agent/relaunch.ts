import { join } from "node:path";
import { relaunchAgent } from "../../../services/fleet/relaunch-agent.ts";
import { parseResume } from "../../../services/sessions/resume.ts";
import { sessionPaths } from "../../../services/sessions/roots.ts";
import { agentPane } from "../../../services/terminal/tmux-command.ts";
import { sleep } from "../../../system/clock.ts";
import { ServiceError } from "../../../system/errors.ts";
import { type Answer, command } from "../../command.ts";
import { toLaunchAnswer } from "../../launch-answer.ts";
import { narrate, warn } from "../../narrate.ts";
import { openTarget, type Target } from "../../target.ts";

const modes = ["new", "tool_last_or_new", "exact"] as const;

export default command({
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
    const relaunched = await relaunchAgent(target.context, target.agent, {
      resume,
      reconcile: args.reconcile,
      gateway: !args["no-gateway"],
    });
    if (relaunched.missingVariables.length > 0) {
      await warn(io, `started without a value for: ${relaunched.missingVariables.join(", ")}`);
    }
    const { session, attached, inPlace, missingVariables } = relaunched;
    const answer = toLaunchAnswer(target.context, session, attached, null);
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
  const env = Object.entries(context.env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  const id = args["chat-session-id"];
  context.processes.detach(
    "process:relaunch",
    [
      ...context.managerCommand,
      ...["agents", "single", "--agent-id", agent.manifest.agent_id, "relaunch", "--after-caller"],
      ...["--chat-session-mode", args["chat-session-mode"]],
      ...(id === undefined ? [] : ["--chat-session-id", id]),
      ...(args.reconcile ? ["--reconcile"] : []),
    ],
    { env: Object.fromEntries(env), cwd: agent.sessionRoot, logPath },
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
