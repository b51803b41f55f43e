import type { FleetEvent } from "../../protocol/coordinator.ts";

export type FleetStreamItem = { item: "event"; id: string; event: FleetEvent } | { item: "heartbeat" };

/** What happens at all agents, in the order in which it came to us. */
export interface FleetEvents {
  /**
   * Everything after the event with the id `after` (null: only what is to come), and a heartbeat in each silent span of
   * 15 s, until `signal` aborts. A position that is not kept any more is told by one `stream_gap`. Reading slowly costs
   * nothing but, in the end, a gap.
   */
  follow(options: { after: string | null; signal: AbortSignal }): AsyncGenerator<FleetStreamItem>;
}
