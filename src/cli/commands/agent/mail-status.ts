import { performMail } from "../../agent-mail.ts";
import { command } from "../../command.ts";
import { renderPairs } from "../../format.ts";
import { openMailTarget } from "../../mail-target.ts";

export default command({
  name: "status",
  description: "show which mailbox it is and how it is reached",
  examples: ["svc-mgr agents single --agent-name worker mail status"],
  async run(invocation) {
    const target = await openMailTarget(invocation);
    const { done } = await performMail(target, "status", undefined);
    return {
      json: done,
      text: renderPairs([
        ["address", done.address],
        ["principal", done.principal_id],
        ["transport", done.transport],
        ["bound", done.bindings_version],
        ["reached", done.execution_path],
      ]),
    };
  },
});
