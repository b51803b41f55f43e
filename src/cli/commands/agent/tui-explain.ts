import { command } from "../../command.ts";
import { bodyOf } from "../../gateway-call.ts";
import { openLiveTarget } from "../../target.ts";
import { renderExplanation } from "../../terminal-text.ts";

export default command({
  name: "explain",
  description:
    "say which rules made the terminal's state what it is, and what keeps a prompt from being given",
  examples: ["svc-mgr agents single --agent-name worker gateway tui explain"],
  async run(invocation) {
    const { link } = await openLiveTarget(invocation);
    const explanation = bodyOf(await link.client.call("explain", {}));
    return { json: explanation, text: renderExplanation(explanation) };
  },
});
