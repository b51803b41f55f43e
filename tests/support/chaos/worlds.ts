import { acpWorld } from "./acp.ts";
import { agentsWorld } from "./agents.ts";
import { createDeliveriesWorld, questionsWorld } from "./deliveries.ts";
import type { World } from "./engine.ts";
import { gatewaysWorld } from "./gateways.ts";
import { hostsWorld } from "./hosts.ts";
import { soakWorld } from "./soak.ts";
import { turnsWorld } from "./turns.ts";

/** What `bun run chaos` can break; the first one unless another is named. */
export const worlds: readonly World[] = [
  agentsWorld,
  hostsWorld,
  gatewaysWorld,
  createDeliveriesWorld(),
  questionsWorld,
  turnsWorld,
  acpWorld,
  soakWorld,
];
