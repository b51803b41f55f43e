import type { CoordinatorInstance } from "../../protocol/coordinator.ts";
import type { FleetLaunch } from "../../services/fleet/fleet-launch.ts";
import type { FleetEvents } from "../../services/fleet/fleet-stream.ts";
import type { FleetTurns } from "../../services/fleet/fleet-turns.ts";
import type { FleetView } from "../../services/fleet/fleet-view.ts";
import type { FleetWork } from "../../services/fleet/fleet-work.ts";
import type { Forward } from "../../services/fleet/forward.ts";

/** What the coordination server's routes call. */
export interface CoordinatorServices {
  view: FleetView;
  work: FleetWork;
  turns: FleetTurns;
  launches: FleetLaunch;
  forward: Forward;
  events: FleetEvents;
  server: {
    instance(): CoordinatorInstance;
    /** Ends the process soon, so that the answer is still given. */
    shutdown(): void;
  };
}
