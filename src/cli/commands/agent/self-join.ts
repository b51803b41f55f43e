import { attachGateway } from "../../../services/fleet/attach-gateway.ts";
import { joinAgent } from "../../../services/sessions/join.ts";
import { sessionOfPane } from "../../../services/terminal/tmux-screen.ts";
import { messageOf, ServiceError } from "../../../system/errors.ts";
import { command } from "../../command.ts";
import { joinFlags, readJoinFlags } from "../../join-flags.ts";
import { toLaunchAnswer } from "../../launch-answer.ts";
import { openWorld } from "../../world.ts";

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
    "no-gateway": { type: "boolean", description: "start no gateway" },
  },
  async run({ args, inherited, io }) {
    const world = openWorld(io, inherited);
    const pane = io.env["TMUX_PANE"];
    if (!pane)
      throw new ServiceError("precondition_failed", "this is not a pane of tmux: TMUX_PANE is not set");
    const session = await joinAgent(world, {
      ...readJoinFlags(args, io),
      agentName: args["agent-name"],
      headless: args.headless ? plainTurns : undefined,
      tmuxSession: await sessionOfPane(world.tmux, pane),
    });
    if (args["no-gateway"]) return toLaunchAnswer(session, null, null);
    try {
      const executionMode = args.background ? "detached_process" : "tmux_auxiliary_window";
      return toLaunchAnswer(session, await attachGateway(world, session, { executionMode }), null);
    } catch (error) {
      return toLaunchAnswer(session, null, messageOf(error));
    }
  },
});
