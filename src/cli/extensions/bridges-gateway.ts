import { gatewayAguiRoutes } from "../../routes/bridges/agui.ts";
import { createAgui } from "../../services/agui/agui.ts";
import type { GatewayPart, OpenGateway } from "./extension.ts";

/** AG-UI, for clients of one gateway. */
export function openAgui({ system, records, agent, board, queue }: OpenGateway): GatewayPart {
  const { clock, ids } = system;
  const agui = createAgui({ agent, board, queue, events: records.events, clock, ids });
  return { routes: gatewayAguiRoutes(agui), services: [{ name: "AG-UI", stop: agui.close }] };
}
