import { type Attached, attachGateway } from "../../../services/fleet/attach-gateway.ts";
import { joinAgent } from "../../../services/sessions/join.ts";
import { parseResume, type Resume } from "../../../services/sessions/resume.ts";
import { sessionOfPane } from "../../../services/terminal/tmux-screen.ts";
import { messageOf, ServiceError } from "../../../system/errors.ts";
import { command, UsageError } from "../../command.ts";
import { toLaunchAnswer, withNotifier } from "../../launch-answer.ts";
import { joinFlags, readJoinFlags } from "../../shared-flags.ts";
import { openWorld, prepareSessionPlace } from "../../world.ts";

const plainTurns = {
  displayStyle: "plain",
  displayDetail: "concise",
  model: undefined,
  reasoningLevel: undefined,
};

export default command({
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
    background: { type: "boolean", description: "run the gateway as a process of its own, without a window" },
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
    const world = openWorld(io, inherited);
    const pane = io.env["TMUX_PANE"];
    if (!pane)
      throw new ServiceError("precondition_failed", "this is not a pane of tmux: TMUX_PANE is not set");
    const { paneTmux: tmux } = world;
    await prepareSessionPlace(world, io);
    const session = await joinAgent(
      { ...world, tmux },
      {
        ...readJoinFlags(args, io),
        agentName: args["agent-name"],
        headless: args.headless ? plainTurns : undefined,
        resume: toResume(args["resume-id"], args.headless),
        tmuxSession: await sessionOfPane(tmux, pane),
      },
    );
    const complete = (attached: Attached | null, error: string | null) =>
      withNotifier(toLaunchAnswer(world, session, attached, error), args["agent-name"], session.notifier);
    if (args["no-gateway"]) return complete(null, null);
    try {
      const executionMode = args.background ? "detached_process" : "tmux_auxiliary_window";
      return complete(await attachGateway(world, session, { executionMode }), null);
    } catch (error) {
      return complete(null, messageOf(error));
    }
  },
});

function toResume(id: string | undefined, headless: boolean): Resume | undefined {
  if (id === undefined) return undefined;
  if (!headless) throw new UsageError("--resume-id needs --headless: a terminal agent runs already");
  return id === "last" ? { mode: "tool_last_or_new" } : parseResume("exact", id);
}
