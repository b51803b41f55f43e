import { command } from "../../command.ts";
import { bodyOf } from "../../gateway-call.ts";
import { openLiveTarget } from "../../target.ts";
import { renderTerminal } from "../../terminal-text.ts";

export default command({
  name: "state",
  description: "show what the agent's terminal shows",
  examples: ["svc-mgr agents single --agent-name worker gateway tui state"],
  async run(invocation) {
    const { link } = await openLiveTarget(invocation);
    const state = bodyOf(await link.client.call("terminalState", {}));
    return { json: state, text: renderTerminal(state) };
  },
});
