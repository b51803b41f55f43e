import { initialStatesQuery } from "../../protocol/agent-states.ts";
import { attentionEventKinds } from "../../protocol/attention.ts";
import { coordinatorSocketPath, gatewaySocketPath } from "../../protocol/console.ts";
import { fleetEventKinds } from "../../protocol/coordinator.ts";
import { allCoordinatorEndpoints } from "../../protocol/coordinator-endpoints.ts";
import { gatewayEndpoints, streamEndpoints } from "../../protocol/endpoints.ts";
import { eventKinds } from "../../protocol/events.ts";

// Macros: the bundle holds what they return, not the schemas that it is derived from.

/** What the coordinator answers itself and a gateway answers of its agent under another path. */
const ownPaths: Record<string, string> = {
  agentState: gatewayEndpoints.ownAgentState.path,
  agentGateway: gatewayEndpoints.status.path,
  listAttention: gatewayEndpoints.ownAttention.path,
  answerAttention: gatewayEndpoints.answerOwnAttention.path,
  fleetEvents: streamEndpoints.events.path,
  screensEvents: streamEndpoints.screenEvents.path,
};

/** Method and path of each operation, and its path at a gateway, where one answers it. */
export function operations(): Record<string, [method: string, path: string, gatewayPath?: string]> {
  return Object.fromEntries(
    Object.entries(allCoordinatorEndpoints).map(([id, endpoint]) => {
      const { method, path } = endpoint;
      const gatewayPath = "gatewayPath" in endpoint ? endpoint.gatewayPath : ownPaths[id];
      return [id, gatewayPath === undefined ? [method, path] : [method, path, gatewayPath]];
    }),
  );
}

/** The query of the first look, which the page asks for before its scripts run. */
export const firstLook = (): typeof initialStatesQuery => ({ ...initialStatesQuery });

/** Where the live terminal of an agent is. */
export function socketPaths(): { ofCoordinator: string; ofGateway: string } {
  return { ofCoordinator: coordinatorSocketPath, ofGateway: gatewaySocketPath };
}

/** The names under which the streams send their events: an EventSource needs a listener for each. */
export function streamedKinds(): { attention: string[]; fleet: string[] } {
  return {
    attention: Object.keys(attentionEventKinds),
    fleet: [...Object.keys(fleetEventKinds), ...Object.keys(eventKinds)],
  };
}
