import { attentionEventKinds } from "../protocol/attention.ts";
import { fleetEventKinds } from "../protocol/coordinator.ts";
import { allCoordinatorEndpoints } from "../protocol/coordinator-endpoints.ts";
import { eventKinds } from "../protocol/events.ts";

// Macros: the bundle holds what they return, not the schemas that it is derived from.

/** Method and path of each operation. */
export function operations(): Record<string, [method: string, path: string]> {
  return Object.fromEntries(
    Object.entries(allCoordinatorEndpoints).map(([id, { method, path }]) => [id, [method, path]]),
  );
}

/** The names under which the streams send their events: an EventSource needs a listener for each. */
export function streamedKinds(): { attention: string[]; fleet: string[] } {
  return {
    attention: Object.keys(attentionEventKinds),
    fleet: [...Object.keys(fleetEventKinds), ...Object.keys(eventKinds)],
  };
}
