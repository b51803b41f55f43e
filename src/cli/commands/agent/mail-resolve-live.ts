import { resolveLive } from "../../agent-mail.ts";
import { command } from "../../command.ts";
import { renderPairs } from "../../format.ts";
import { mailOf } from "../../mail-target.ts";
import { openTarget } from "../../target.ts";

export default command({
  name: "resolve-live",
  description: "tell where the agent's mailbox is and which gateway serves it",
  examples: [
    "svc-mgr agents self mail resolve-live --json",
    "svc-mgr agents single --agent-name worker mail resolve-live",
  ],
  async run(invocation) {
    const target = mailOf(await openTarget(invocation), invocation.io);
    const found = await resolveLive(target);
    const { manifest } = target.agent;
    const self = invocation.path.includes("self");
    return {
      json: {
        schema_version: 1,
        ...found,
        managed_agent: {
          mode: self ? "self" : "single",
          agent_ref: manifest.agent_id,
          tracked_agent_id: manifest.agent_id,
          agent_name: manifest.agent_name,
          agent_id: manifest.agent_id,
          tmux_session_name: manifest.tmux_session_name,
        },
        gateway_available: found.gateway !== null,
      },
      text: renderPairs([
        ["address", found.address],
        ["principal", found.principal_id],
        ["transport", found.transport],
        ["bound", found.bindings_version],
        ["root", found.mailbox.filesystem?.root],
        ["mailbox", found.mailbox.filesystem?.mailbox_path],
        ["server", found.mailbox.jmap?.jmap_url],
        ["gateway", found.gateway?.base_url ?? "none runs"],
      ]),
    };
  },
});
