import { Value } from "@sinclair/typebox/value";
import { GatewayStatus } from "../../../protocol/gateway.ts";
import { linkGateway } from "../../../services/fleet/gateway-link.ts";
import type { FoundAgent } from "../../../services/sessions/find.ts";
import { gatewayIdentity } from "../../../services/sessions/gateway-folder.ts";
import { sessionPaths } from "../../../services/sessions/roots.ts";
import { toOfflineStatus } from "../../../services/status/project.ts";
import { command } from "../../command.ts";
import { renderPairs } from "../../format.ts";
import { openTarget } from "../../target.ts";
import type { World } from "../../world.ts";

export default command({
  name: "status",
  description: "show the gateway's status, also when none runs",
  examples: ["svc-mgr agents single --agent-name worker gateway status --json"],
  async run(invocation) {
    const { world, agent } = await openTarget(invocation);
    const identity = gatewayIdentity(agent.manifest);
    const link = await linkGateway(world, {
      sessionRoot: agent.sessionRoot,
      attachIdentity: identity.attachIdentity,
    });
    const status =
      link.state === "healthy" ? link.status : toOfflineStatus(identity, lastEpoch(world, agent));
    const note = link.state === "healthy" ? link.client.baseUrl : link.why;
    return { json: status, text: `${note}\n${renderStatus(status)}` };
  },
});

/** The epoch that the last gateway left; 0 before the first one (contract 2.1). */
function lastEpoch({ files }: World, agent: FoundAgent): number {
  const text = files.read(sessionPaths(agent.sessionRoot).state);
  try {
    const saved: unknown = JSON.parse(text ?? "null");
    return Value.Check(GatewayStatus, saved) ? saved.managed_agent_instance_epoch : 0;
  } catch {
    return 0;
  }
}

function renderStatus(status: GatewayStatus): string {
  const { waiting } = status;
  return renderPairs([
    ["health", status.gateway_health],
    ["agent", status.managed_agent_connectivity],
    ["recovery", status.managed_agent_recovery],
    ["admission", status.request_admission],
    ["terminal", status.terminal_surface_eligibility],
    ["execution", status.active_execution],
    ["queue", status.queue_depth],
    ["queue waits", waiting && `${waiting.reason} since ${waiting.since_utc}: ${waiting.detail}`],
    ["epoch", status.managed_agent_instance_epoch],
  ]);
}
