import { Value } from "@sinclair/typebox/value";
import { GatewayStatus } from "../../protocol/gateway.ts";
import type { Files } from "../../system/files.ts";
import type { FoundAgent } from "../sessions/find.ts";
import { offlineIdentity } from "../sessions/gateway-folder.ts";
import { sessionPaths } from "../sessions/roots.ts";
import { toOfflineStatus } from "../status/project.ts";

/** The status of an agent that no gateway serves: the epoch is what the last one left, 0 before the first one. */
export function offlineStatus(
  { files }: { files: Files },
  agent: Pick<FoundAgent, "manifest" | "sessionRoot">,
): GatewayStatus {
  return toOfflineStatus(offlineIdentity(files, agent), lastEpoch(files, agent.sessionRoot));
}

function lastEpoch(files: Files, sessionRoot: string): number {
  const text = files.readOwn(sessionPaths(sessionRoot).state);
  try {
    const saved: unknown = JSON.parse(text ?? "null");
    return Value.Check(GatewayStatus, saved) ? saved.managed_agent_instance_epoch : 0;
  } catch {
    return 0;
  }
}
