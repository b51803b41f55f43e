import { Value } from "@sinclair/typebox/value";
import { GatewayStatus } from "../protocol/gateway.ts";
import type { FoundAgent } from "../services/sessions/find.ts";
import { offlineIdentity } from "../services/sessions/gateway-folder.ts";
import { sessionPaths } from "../services/sessions/roots.ts";
import { toOfflineStatus } from "../services/status/project.ts";
import type { World } from "./world.ts";

/** The status of an agent that no gateway serves: the epoch is what the last one left, 0 before the first one. */
export function offlineStatus({ files }: Pick<World, "files">, agent: FoundAgent): GatewayStatus {
  return toOfflineStatus(offlineIdentity(files, agent), lastEpoch(files, agent));
}

function lastEpoch(files: World["files"], agent: FoundAgent): number {
  const text = files.read(sessionPaths(agent.sessionRoot).state);
  try {
    const saved: unknown = JSON.parse(text ?? "null");
    return Value.Check(GatewayStatus, saved) ? saved.managed_agent_instance_epoch : 0;
  } catch {
    return 0;
  }
}
