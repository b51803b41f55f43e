import type { GatewayStatus } from "../../../protocol/gateway.ts";
import { linkGateway } from "../../../services/fleet/gateway-link.ts";
import { settleClaims } from "../../../services/fleet/live-claims.ts";
import { gatewayIdentity, readOfflineStatus } from "../../../services/sessions/gateway-folder.ts";
import { command } from "../../command.ts";
import { renderPairs } from "../../format.ts";
import { openTarget } from "../../target.ts";

export default command({
  name: "status",
  description: "show the gateway's status, also when none runs",
  examples: ["svc-mgr agents single --agent-name worker gateway status --json"],
  async run(invocation) {
    const { world, agent } = await openTarget(invocation);
    const { attachIdentity } = gatewayIdentity(agent.manifest);
    const link = await linkGateway(world, { sessionRoot: agent.sessionRoot, attachIdentity });
    await settleClaims(world, agent, link);
    const status = link.state === "healthy" ? link.status : readOfflineStatus(world.files, agent, null);
    const note = link.state === "healthy" ? link.client.baseUrl : link.why;
    return { json: status, text: `${note}\n${renderStatus(status)}` };
  },
});

function renderStatus(status: GatewayStatus): string {
  const { waiting, reminders_lost: lost, admission_block: block } = status;
  const window = status.gateway_tmux_window_index;
  return renderPairs([
    ["health", status.gateway_health],
    ["runs", window === undefined ? status.execution_mode : `${status.execution_mode} ${window}`],
    ["agent", status.managed_agent_connectivity],
    ["recovery", status.managed_agent_recovery],
    ["admission", status.request_admission],
    ["why", block?.detail],
    ["terminal", status.terminal_surface_eligibility],
    ["execution", status.active_execution],
    ["queue", status.queue_depth],
    ["queue waits", waiting && `${waiting.reason} since ${waiting.since_utc}: ${waiting.detail}`],
    ["reminders lost", lost && `${lost.count} at ${lost.at_utc}`],
    ["epoch", status.managed_agent_instance_epoch],
  ]);
}
